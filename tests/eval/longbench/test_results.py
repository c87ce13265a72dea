"""A finished sample is on the disk; a torn last line is dropped aloud; other settings, damage and a second writer are refused."""

import json
import os

import pytest

from eval.longbench.errors import BadResults, ResultsBusy, ResultsUnwritable
from eval.longbench.results import Line, Results, prepare

SETTINGS = {"protocol": "official", "model": "reader", "max_length": 31500}
LINE = Line("image-pic", "hotpotqa", "1", "abc", "Ann", ("Ann", "Anne"), 2, text="Ann", tokens=1)


def test_what_was_appended_is_there_when_it_is_opened_again(tmp_path) -> None:
    with Results(tmp_path, SETTINGS) as results:
        results.append(LINE)
        assert json.loads(results.path.read_bytes().splitlines()[1])["pred"] == "Ann"
    with Results(tmp_path, SETTINGS) as again:
        assert again.done == {LINE.key: LINE}
        assert again.note == ""


def test_lines_carry_the_keys_of_longbenchs_prediction_files(tmp_path) -> None:
    with Results(tmp_path, SETTINGS) as results:
        results.append(LINE)
    assert {"pred", "answers", "all_classes", "length"} <= set(json.loads(results.path.read_bytes().splitlines()[1]))


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_half_written_last_line_is_dropped_aloud_and_the_others_stay(cut, tmp_path) -> None:
    with Results(tmp_path, SETTINGS) as results:
        results.append(LINE)
        whole = results.path.read_bytes()
        results.append(Line("image-pic", "hotpotqa", "2", "abd", "Bo", ("Bo",), 2))
    os.truncate(results.path, os.path.getsize(results.path) - cut)
    with Results(tmp_path, SETTINGS) as again:
        assert list(again.done) == [LINE.key]
        assert "half written" in again.note
    assert results.path.read_bytes() == whole


def test_a_file_torn_in_its_first_line_begins_anew(tmp_path) -> None:
    (tmp_path / "results.jsonl").write_bytes(b'{"settings": {"prot')
    with Results(tmp_path, SETTINGS) as results:
        assert results.done == {}
    with Results(tmp_path, SETTINGS):
        pass


def test_a_file_of_other_settings_is_refused_by_their_name_and_left_alone(tmp_path) -> None:
    with Results(tmp_path, SETTINGS) as results:
        results.append(LINE)
    before = results.path.read_bytes()
    with pytest.raises(BadResults, match="protocol = 'official', now it is 'glyph'"):
        Results(tmp_path, SETTINGS | {"protocol": "glyph"})
    assert results.path.read_bytes() == before


@pytest.mark.parametrize("damage", [b"{}\n", b"not json\n", b"[1]\n"])
def test_a_damaged_line_in_the_middle_is_named_and_nothing_is_dropped(damage, tmp_path) -> None:
    with Results(tmp_path, SETTINGS) as results:
        results.append(LINE)
    lines = results.path.read_bytes().splitlines(keepends=True)
    results.path.write_bytes(lines[0] + damage + lines[1])
    with pytest.raises(BadResults, match="line 2: damaged"):
        Results(tmp_path, SETTINGS)
    assert results.path.read_bytes() == lines[0] + damage + lines[1]


def test_two_runs_do_not_write_one_folder(tmp_path) -> None:
    with Results(tmp_path, SETTINGS), pytest.raises(ResultsBusy, match="another run"):
        Results(tmp_path, SETTINGS)
    with Results(tmp_path, SETTINGS):
        pass


def test_the_last_line_of_a_sample_counts(tmp_path) -> None:
    with Results(tmp_path, SETTINGS) as results:
        results.append(Line("image-pic", "hotpotqa", "1", "abc", "", ("Ann",), 2, error="RuntimeError: gone", again=True))
        results.append(LINE)
    with Results(tmp_path, SETTINGS) as again:
        assert again.done == {LINE.key: LINE}


def test_a_place_that_is_no_folder_is_told_before_anything_runs(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ResultsUnwritable, match="--out"):
            prepare(place)


def test_no_permission_to_write_is_told(tmp_path) -> None:
    tmp_path.chmod(0o500)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # nothing is forbidden to root
    try:
        with pytest.raises(ResultsUnwritable, match="Permission denied"):
            prepare(tmp_path / "run")
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)
