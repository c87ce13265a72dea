"""Every question has its figures, as PNG and as SVG."""

import pytest

pytest.importorskip("matplotlib", reason="figures need matplotlib (quire[plots])")

from eval.questions import plots
from eval.questions.plans import PLANS


def made(name: str, models: tuple[str, ...] = ("m",)) -> dict[str, object]:
    groups = ("2 pages", "4 pages", "all")
    lines = [
        {
            "model": model,
            "arm": arm,
            "reads": "text" if arm.startswith("text") else "images",
            "group": group,
            "f1": 10.0 + at,
            "f1_interval": [5.0, 50.0],
            "ttft": None if arm == "image-pic@96" else 0.1 * (at + 1),
        }
        for model in models
        for at, arm in enumerate(PLANS[name].arms)
        for group in groups
    ]
    return {"task": name, "lines": lines, "overall": "all"}


@pytest.mark.parametrize("name", PLANS)
def test_every_question_draws_its_figures(name: str, tmp_path) -> None:
    (plot,) = plots.draw(tmp_path, made(name, ("m", "n") if name == "q4" else ("m",)))
    svg = (tmp_path / f"{plot['file']}.svg").read_bytes()
    assert svg.lstrip().startswith(b"<?xml")
    assert (tmp_path / f"{plot['file']}.png").read_bytes().startswith(b"\x89PNG")
    assert plot["alt"]


def test_the_same_figures_draw_the_same_bytes(tmp_path) -> None:
    drawn = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        (plot,) = plots.draw(folder, made("q1"))
        drawn.append((folder / f"{plot['file']}.svg").read_bytes())
    assert drawn[0] == drawn[1]
