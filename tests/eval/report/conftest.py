"""A folder of made-up results with words in it that would be markup if anything let them."""

import json
from pathlib import Path

import pytest

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>|&amp;"
SVG = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="8" height="4"><rect width="8" height="4"/></svg>'


def line(arm: str, group: str, **more):
    return {
        "model": HOSTILE,
        "arm": arm,
        "group": group,
        "n": 4,
        "failed": 0,
        "f1": 12.5,
        "f1_interval": [0.0, 25.0],
        "exact": 0.0,
        "exact_interval": [0.0, 25.0],
        "rows": 1234.0,
        "ttft": 0.1,
        "theirs": None,
        **more,
    }


def question(task: str = "q3"):
    theirs = {"key": "qv", "shown": "54.3", "what": "F1, QV-PIC", "where": "QV-PIC, Q3", "derived": False}
    machine = {"parameters": 4_500_000, "dtype": "float32", "threads": 1, "cores": 2, "device": "cpu (x86_64)"}
    lines = [line(HOSTILE, group, theirs=theirs if group == "all" else None) for group in ("2 pages", "4 pages", "all")]
    return {
        "task": task,
        "title": HOSTILE,
        "asks": f"Does it? {HOSTILE}",
        "source": "QV-PIC, Experiments, Q3",
        "note": "Not comparable.",
        "command": f"quire eval {task} --n 4 {HOSTILE}",
        "settings": {"n": 4, "data": False, "lines": 6},
        "models": {HOSTILE: {"machine": machine, "answers": {}}},
        "groups": ["2 pages", "4 pages"],
        "overall": "all",
        "lines": lines,
        "pairs": [
            {
                "a": HOSTILE,
                "b": "y",
                "model_a": "m",
                "model_b": "m",
                "group": "all",
                "points": -1.0,
                "interval": [-2.0, 0.5],
                "n": 8,
                "ratio": 0.5,
                "ratio_interval": None,
            }
        ],
        "findings": [
            {
                "says": f"A claim. {HOSTILE}",
                "where": "w",
                "model": HOSTILE,
                "verdict": "not testable",
                "why": f"Because {HOSTILE}",
                "theirs": [theirs],
            }
        ],
        "items": [],
        "plots": [{"file": "f1-by-time", "title": HOSTILE, "alt": f"Alt {HOSTILE}"}],
    }


def kamera_line(arm: str, setting: str = "", **more):
    found = {
        "setting": setting,
        "arm": arm,
        "n": 20,
        "exact": 10,
        "kl_first": 0.2,
        "kl_answer": 0.1,
        "kl_answer_interval": [0.08, 0.12],
        "eta_answer": 0.9,
        "eta_answer_interval": [0.85, 0.95],
        "recovered": 15,
        "flips": 16,
    }
    return found | more


def kamera(**summary):
    """Kamera's document, as the paper would have it; runs may be put in another form."""
    weak = {"eta_answer": 0.3, "eta_answer_interval": [0.2, 0.4], "recovered": 4}
    runs = {
        "main": [
            kamera_line("full", exact=18),
            kamera_line("blind", exact=6),
            kamera_line("patch r32"),
            kamera_line("patch r64"),
            kamera_line("epic = r32", **weak),
        ],
        "orbit": [kamera_line("orbit", "K = 3, held out"), kamera_line("exact", "K = 3, held out", eta_answer=0.94)],
        "recall": [kamera_line(arm, at, **(weak if arm == "stale" else {})) for at in ("0%", "100%") for arm in ("fresh", "stale")],
        "survivors": [
            kamera_line("blind", "head evicted"),
            kamera_line("keep", "head evicted", kl_answer=0.01, kl_answer_interval=[0.005, 0.02]),
        ],
        "envelope": [kamera_line(arm, at, **(weak if arm == "stale" else {})) for at in ("0", "3") for arm in ("rebuilt", "stale")],
        "depth": [kamera_line("from", str(at), eta_answer=1 - at / 40, eta_answer_interval=[0.9, 1.0]) for at in range(5)],
    }
    readings = [{"arm": "full", "exact": True}, {"arm": "blind", "exact": False}]
    items = [{"run": "main", "readings": readings} for _ in range(12)]
    return {
        "task": "kamera",
        "model": "reader",
        "settings": {"n": 20, "lines": 6, "dpi": 120},
        "summary": runs | summary,
        "items": items,
    }


def ttft():
    spread = {"p50": 0.02, "p90": 0.03, "p99": 0.04}
    return {
        "task": "ttft",
        "models": [
            {
                "model": HOSTILE,
                "settings": {"pages": 8, "dpi": "72", "requests": 50},
                "rows": [{"way": way, "first_token": spread, "rows": [400, 410]} for way in ("full", "memory")],
                "ratios": [{"way": "memory", "first_token": {"p50": 0.12}}],
            }
        ],
    }


@pytest.fixture
def made():
    """The makers of documents, by name."""
    return {"question": question, "kamera": kamera, "kamera_line": kamera_line, "ttft": ttft}


@pytest.fixture
def hostile() -> str:
    return HOSTILE


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder of q3, kamera and ttft; q1, q2 and q4 are missing."""
    folder = tmp_path / "results"
    for name, file, facts in (("q3", "results.json", question()), ("kamera", "results.json", kamera()), ("ttft", "ttft.json", ttft())):
        (folder / name).mkdir(parents=True)
        (folder / name / file).write_text(json.dumps(facts), encoding="utf-8")
    (folder / "q3" / "f1-by-time.svg").write_text(SVG, encoding="utf-8")
    return folder
