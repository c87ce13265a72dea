"""Looking for bytes that should be nowhere: in every file, across pieces, and in names."""

from pathlib import Path

import pytest

from ingest import traces as room
from ingest.traces import needles, traces


def test_words_are_found_as_they_may_be_written_and_keys_in_names(tmp_path: Path) -> None:
    (tmp_path / "utf8").write_bytes("x Straßenbahn x".encode())
    (tmp_path / "utf16").write_bytes("x Straßenbahn x".encode("utf-16-le"))
    (tmp_path / "json").write_text('{"a": "Stra\\u00dfenbahn"}')
    (tmp_path / "deadbeef00@72").mkdir()
    (tmp_path / "none").write_text("Strassenbahn")
    found = {(path.name, name) for path, name in traces(tmp_path, needles(["Straßenbahn"], ["deadbeef00"]))}
    assert found == {("utf8", "text 1"), ("utf16", "text 1 (UTF-16)"), ("json", "text 1 (JSON)"), ("deadbeef00@72", "key deadbeef00")}


def test_what_lies_across_two_pieces_is_found_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_PIECE", 8)
    (tmp_path / "file").write_bytes(b"....marker..marker....")
    assert [name for _, name in traces(tmp_path, {"it": b"marker"})] == ["it"]
    assert list(traces(tmp_path, {"it": b"markers"})) == []


def test_links_are_not_followed_and_short_words_are_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("a marker")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "link").symlink_to(tmp_path / "outside")
    assert list(traces(tmp_path / "home", needles(["a marker"]))) == []
    with pytest.raises(ValueError, match="found by chance"):
        needles(["ab"])
