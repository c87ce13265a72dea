"""`quire bench serve`: its words, its tables, and one short run over a real server."""

import json

import pytest

from eval.bench.serve import markdown
from eval.command import main


def test_a_model_that_no_server_can_load_is_refused(capsys) -> None:
    assert main(["bench", "serve", "--model", "random-small"]) == 2
    assert "random-small" in capsys.readouterr().err


def test_numbers_of_clients_that_are_none_are_refused(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "serve", "--clients", "1,0"])
    assert ended.value.code == 2


def test_without_full_prefill_the_tables_give_no_ratio() -> None:
    numbers = {"p50": 0.1, "p99": 0.2}
    names = ("waiting", "retrieve", "plan", "load", "place", "prefill", "client")
    level = {"clients": 4, "first_content": numbers, "answers_a_second": 2.0, "parts": dict.fromkeys(names, numbers)}
    level |= {"ratio_to_full": None, "ratio_to_full_without_waiting": None}
    settings = {"model": "reader", "pages": 4, "held": 7, "dpi": "72", "patches": "off", "n": 8, "answer_tokens": 8}
    text = markdown({"settings": settings, "levels": [level], "full_prefill": None})
    assert "100.0" in text
    assert "Full prefill" not in text
    assert text.count(" - |") == 2


@pytest.mark.slow
def test_a_short_run_measures_every_number_of_clients(tmp_path, capsys) -> None:
    assert main(["bench", "serve", "--clients", "1,3", "--n", "4", "--rounds", "2", "--full", "2", "--out", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [level["clients"] for level in told["levels"]] == [1, 3]
    assert all(level["first_content"]["n"] > 0 for level in told["levels"])
    assert json.loads((tmp_path / "serve.json").read_text())["task"] == "serve"
