"""What each command does, run as a person would: a home of its own, files in, answers and receipts out."""

import json
import signal
import threading

import pytest

from app import commands
from app.command import build_parser, main, run
from ingest.home import Home


@pytest.fixture
def home(house) -> str:
    """The session's home, full; commands open it a second time, as another process would."""
    return str(house.workshop.home.root)


def test_ingest_prints_what_became_of_every_file_and_ends_with_1_when_one_failed(tmp_path, records, capsys):
    (tmp_path / "in").mkdir()
    good = tmp_path / "in" / "good.txt"
    good.write_text(records[0].read_text())
    (tmp_path / "in" / "blank.txt").write_text("  \n")
    words = ["ingest", str(tmp_path / "in"), "--home", str(tmp_path / "home"), "--collection", "mine"]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert "done    good.txt" in out
    assert "failed  blank.txt" in out
    assert "1 done, 0 skipped (already there), 1 failed" in out
    assert err == ""
    assert main([*words, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["done"], report["skipped"], [item["kind"] for item in report["failed"]]) == ([], ["good.txt"], ["NoText"])


def test_ingest_into_a_name_that_is_none_reads_nothing(tmp_path, capsys):
    assert main(["ingest", str(tmp_path), "--home", str(tmp_path / "home"), "--collection", "No Name"]) == 2
    assert "cannot name a collection" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def test_an_empty_path_is_not_the_current_folder(tmp_path, capsys):
    assert main(["ingest", "", "--home", str(tmp_path / "home")]) == 2
    assert "empty PATH" in capsys.readouterr().err


def test_a_stopped_ingest_ends_with_130_and_says_how_to_go_on(tmp_path, records, capsys, monkeypatch):
    """The person's Ctrl-C comes while the first file is compiled."""
    from app.progress import Bar

    assert threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(Bar, "show", _interrupt_once())
        words = ["ingest", *map(str, records), "--home", str(tmp_path)]
        assert main(words) == 130
    assert signal.getsignal(signal.SIGINT) is before
    out, err = capsys.readouterr()
    assert "run the same command again to go on" in out
    assert "stopping after this batch" in err
    assert main(words) == 0
    assert f"{len(records)} done" in capsys.readouterr().out


def _interrupt_once():
    seen = []

    def show(self, at):
        if at.stage == "compile" and not seen:
            seen.append(at)
            signal.raise_signal(signal.SIGINT)

    return show


def test_ask_streams_the_answer_then_the_pages_and_warns_of_the_small_reader(home, house, capsys):
    assert main(["ask", "Tell me the voltage of Sleke bridge.", "--home", home, "--show-pages", "--top-k", "2"]) == 0
    out, err = capsys.readouterr()
    answer, _, rest = out.partition("\n\n")
    assert answer.strip()
    assert "DPI" in rest
    assert "answered by reader; first token after" in rest
    assert "[has the answer's words]" in rest or "[closest to the question]" in rest
    assert err == f"quire: {house.backbone.card.says}\n"


def test_ask_as_json_is_the_very_body_that_http_carries(home, house, capsys):
    from app.bodies_answer import Answer

    assert main(["ask", "Tell me the voltage of Sleke bridge.", "--home", home, "--json", "--cap", "0"]) == 0
    told = Answer.model_validate_json(capsys.readouterr().out)
    assert {pick.dpi for pick in told.plan.picks} == {72}


def test_ask_of_nothing_or_of_nowhere_has_its_own_exit_code(home, capsys):
    assert main(["ask", " ", "--home", home]) == 2
    assert main(["ask", "why?", "--home", home, "--collection", "nowhere"]) == 3
    assert "nowhere" in capsys.readouterr().err


def test_lists_need_no_model(home, records, capsys, monkeypatch):
    from app.house import House

    monkeypatch.setattr(House, "open", None)
    assert main(["documents", "--home", home]) == 0
    assert all(path.name in capsys.readouterr().out for path in records[:1])
    assert main(["documents", "--home", home, "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == sorted(path.name for path in records)
    assert main(["collections", "--home", home, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["documents"] == len(records)


def test_a_home_that_is_not_there_is_not_made_by_looking_at_it(tmp_path, capsys):
    assert main(["documents", "--home", str(tmp_path / "none")]) == 3
    assert not (tmp_path / "none").exists()
    assert "there is no collection yet" in capsys.readouterr().err


def test_delete_by_name_prints_the_receipt_and_leaves_nothing(tmp_path, records, capsys):
    assert main(["ingest", str(records[0]), "--home", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["delete", records[0].name, "--home", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"deleted {records[0].name}" in out
    assert ".safetensors" in out
    assert not list(Home(tmp_path).images_root.rglob("*.png"))
    assert not list(Home(tmp_path).store_root.rglob("*.safetensors"))
    assert main(["delete", records[0].name, "--home", str(tmp_path)]) == 3
    assert "nor that name in collection 'default'" in capsys.readouterr().err


def test_repair_compiles_again_what_is_damaged(tmp_path, records, capsys):
    assert main(["ingest", str(records[0]), "--home", str(tmp_path)]) == 0
    cache = next(Home(tmp_path).store_root.glob("*/caches/*/*.safetensors"))
    whole = cache.read_bytes()
    cache.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    capsys.readouterr()
    assert main(["repair", "--home", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert cache.name.removesuffix(".safetensors") in out
    assert "every cache of default is whole" in out
    assert cache.read_bytes() == whole


def test_config_shows_every_setting_with_its_source(tmp_path, capsys, monkeypatch):
    (tmp_path / "quire.toml").write_text("cap = 2\n")
    monkeypatch.setenv("QUIRE_ALPHA", "0.5")
    monkeypatch.setenv("QUIRE_ALHPA", "0.5")
    assert main(["config", "--home", str(tmp_path), "--json"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["cap"] == {"value": 2, "from": str(tmp_path / "quire.toml")}
    assert told["alpha"] == {"value": 0.5, "from": "QUIRE_ALPHA"}
    assert told["home"]["from"] == "command line"
    assert told["batch"]["from"] == "default"
    assert "QUIRE_ALHPA, which is no setting" in err
    assert main(["config", "--home", str(tmp_path)]) == 0
    assert "QUIRE_REQUEST_FILES" in capsys.readouterr().out


def test_a_wrong_setting_is_told_before_anything_is_loaded(tmp_path, capsys):
    assert main(["ask", "why?", "--home", str(tmp_path / "h"), "--alpha", "2"]) == 2
    assert capsys.readouterr().err.startswith("quire: alpha = '2' (command line): ")
    assert not (tmp_path / "h").exists()


def test_the_parsers_runs_are_the_functions_here():
    parser, _ = build_parser()
    assert parser.parse_args(["config"]).run is commands.config
    assert run(parser.parse_args(["config", "--alpha", "7"])) == 2


def test_a_folder_with_nothing_to_read_is_told_by_the_exit_code(tmp_path, capsys):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "data.json").write_text("{}")
    assert main(["ingest", str(folder), "--home", str(tmp_path / "home")]) == 1
    assert "passed over" in capsys.readouterr().out
