"""Settings: four sources in one order of strength, every one documented, and a slip of the pen is named."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from app.errors import BadSettings
from app.settings import PREFIX, Settings
from app.sources import origins, read_settings, strangers
from ingest.policy import Policy
from ingest.types import Limits

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    """The person's own folder is an empty one."""
    monkeypatch.setenv("HOME", str(tmp_path))


def write(home: Path, text: str) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    path = home / "quire.toml"
    path.write_text(text)
    return path


def test_the_command_line_beats_the_environment_beats_the_file_beats_the_default(tmp_path, monkeypatch):
    path = write(tmp_path, "port = 1\nqueue = 1\nbatch = 1\n")
    monkeypatch.setenv("QUIRE_PORT", "2")
    monkeypatch.setenv("QUIRE_QUEUE", "2")
    given = {"home": str(tmp_path), "port": "3", "cap": None}
    settings = read_settings(given)
    assert (settings.port, settings.queue, settings.batch, settings.cap) == (3, 2, 1, 4)
    told = origins(settings, given)
    assert [told[name] for name in ("port", "queue", "batch", "cap")] == ["command line", "QUIRE_QUEUE", str(path), "default"]


def test_the_file_is_found_in_the_home_that_the_environment_names(tmp_path, monkeypatch):
    write(tmp_path / "there", "top_k = 3\n")
    monkeypatch.setenv("QUIRE_HOME", str(tmp_path / "there"))
    assert read_settings().top_k == 3


def test_without_anything_the_home_is_a_folder_of_the_person(tmp_path):
    assert read_settings().home == tmp_path / ".quire"


def test_a_named_file_may_say_where_the_home_is(tmp_path):
    path = tmp_path / "other.toml"
    path.write_text(f'home = "{tmp_path / "far"}"\n')
    assert read_settings({"config": path}).home == tmp_path / "far"


def test_a_file_found_through_the_home_may_not_move_the_home(tmp_path):
    write(tmp_path, 'home = "/elsewhere"\n')
    with pytest.raises(BadSettings, match="'home' is not a setting of this file"):
        read_settings({"home": tmp_path})


def test_an_unknown_key_of_the_file_is_named_with_the_one_that_was_meant(tmp_path):
    write(tmp_path, "topk = 3\n")
    with pytest.raises(BadSettings, match=r"quire\.toml: 'topk' is not a setting of this file; did you mean 'top_k'\?"):
        read_settings({"home": tmp_path})


def test_a_named_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(BadSettings, match="no such settings file"):
        read_settings({"config": tmp_path / "none.toml"})


def test_a_file_that_is_no_toml_says_where(tmp_path):
    write(tmp_path, "port = = 3\n")
    with pytest.raises(BadSettings, match=r"quire\.toml: .*line 1"):
        read_settings({"home": tmp_path})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", "1.5"),
        ("alpha", "nan"),
        ("port", "70000"),
        ("dtype", "float8"),
        ("ram_bytes", "lots"),
        ("batch", "0"),
        ("low", "9"),
        ("parse_seconds", "inf"),
    ],
)
def test_a_bad_value_is_told_with_its_name_its_value_and_its_source(name, value, monkeypatch):
    monkeypatch.setenv(PREFIX + name.upper(), value)
    with pytest.raises(BadSettings, match=re.escape(f"{name} = {value!r} (QUIRE_{name.upper()})")):
        read_settings()


def test_dpis_in_the_wrong_order_are_refused():
    with pytest.raises(BadSettings, match=r"low \(150\) is above high \(120\)"):
        read_settings({"low": 150})


def test_sizes_may_have_units():
    assert read_settings({"ram_bytes": "2GiB", "file_bytes": "1MiB"}).ram_bytes == 2 * 1024**3


def test_the_upload_limit_follows_the_file_limit_unless_it_is_set():
    assert read_settings({"file_bytes": "1MiB"}).upload_bytes == 1024**2
    assert read_settings({"file_bytes": "1MiB", "upload_bytes": "5MiB"}).upload_bytes == 5 * 1024**2


def test_limits_are_the_settings_of_the_same_names():
    assert read_settings().limits() == Limits()
    for field in fields(Limits):
        assert getattr(read_settings({field.name: 7}).limits(), field.name) == 7


def test_the_policy_is_the_settings_of_the_patches():
    assert read_settings().policy() == Policy()
    given = {"patch_policy": "hot", "patch_rank": "8", "hot_after": "3"}
    assert read_settings(given).policy() == Policy("hot", 8, 3)
    with pytest.raises(BadSettings, match="patch_policy = 'some'"):
        read_settings({"patch_policy": "some"})


def test_an_empty_variable_counts_as_not_set(monkeypatch):
    monkeypatch.setenv("QUIRE_TOP_K", "")
    assert read_settings().top_k is None


def test_settings_do_not_change():
    with pytest.raises(ValueError, match="frozen"):
        read_settings().port = 1


def test_variables_that_are_no_settings_are_found():
    assert strangers({"QUIRE_TOPK": "3", "QUIRE_TOP_K": "3", "QUIRE_DEBUG": "1", "HOME": "/"}) == ["QUIRE_TOPK"]


def test_every_setting_is_described_and_stands_in_the_example_with_its_default(monkeypatch, tmp_path):
    example = dict(line.split("=", 1) for line in (ROOT / ".env.example").read_text().splitlines() if line and not line.startswith("#"))
    assert sorted(example) == sorted(PREFIX + name.upper() for name in Settings.model_fields)
    for field in Settings.model_fields.values():
        assert field.description
        assert field.description.endswith(".")
        assert f"# {field.description}" in (ROOT / ".env.example").read_text()
    plain = read_settings()
    for name, value in example.items():
        monkeypatch.setenv(name, value)
    assert read_settings() == plain


@pytest.mark.parametrize(
    ("host", "own"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("192.168.1.4", False)]
)
def test_only_addresses_of_this_machine_are_loopback(host, own):
    assert read_settings({"host": host}).loopback is own
