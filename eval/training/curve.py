"""Logs of training runs in; a figure and a table of their examinations against time out.

    python -m eval.training.curve --out DIR see.log answer.log            # one run after the other, minutes added up
    python -m eval.training.curve --out DIR DIR/curve.csv more.log        # the same, where the first logs are gone and their table is not

Needs matplotlib (the extra `plots`).
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eval.errors import PlotsUnavailable
from eval.plots import COLOURS, MARKS, require

# "see      6.0 min, step 217: exam 95.3 (best 95.3): characters 72 99.5, pieces 72 86.5"
_EXAM = re.compile(r"^(\w+) +([\d.]+) min, step (\d+): exam [\d.]+ \(best [\d.]+\): (.+)$")
_LAST = re.compile(r"^(\w+) +([\d.]+) min, step")
_HEADER = ("stage", "minutes", "step", "figure", "per cent")


@dataclass(frozen=True)
class Point:
    """One examination: minutes of all runs so far, and each figure in per cent."""

    run: str
    minutes: float
    step: int
    marks: dict[str, float]


def points(logs: Sequence[Path]) -> list[Point]:
    """The examinations of runs that followed each other; a `.csv` is a table that `write` left. ValueError for a log without one line of training."""
    found, before = [], 0.0
    for log in logs:
        mine, minutes = _of_table(log) if log.suffix == ".csv" else _of_log(log)
        found += [replace(point, minutes=before + point.minutes) for point in mine]
        before += minutes
    return found


def _of_log(log: Path) -> tuple[list[Point], float]:
    """Its examinations and its minutes; each stage in it counts its own from zero."""
    found, before, stage, last = [], 0.0, "", 0.0
    for line in log.read_text(encoding="utf-8").splitlines():
        if at := _LAST.match(line):
            if at[1] != stage:
                before += last
            stage, last = at[1], float(at[2])
        if exam := _EXAM.match(line):
            marks = {name: float(mark) for name, mark in (part.rsplit(" ", 1) for part in exam[4].split(", "))}
            found.append(Point(exam[1], before + float(exam[2]), int(exam[3]), marks))
    if not stage:
        raise ValueError(f"{log} is no training log: no line of it says how many minutes in it was")
    return found, before + last


def _of_table(path: Path) -> tuple[list[Point], float]:
    """Its examinations, and the minute of the last: what came after that is not in a table."""
    found: list[Point] = []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != _HEADER:
            raise ValueError(f"{path} is no table of this program: its first line is not {','.join(_HEADER)}")
        for row in reader:
            at = row["stage"], float(row["minutes"]), int(row["step"])
            if not found or at != (found[-1].run, found[-1].minutes, found[-1].step):
                found.append(Point(*at, {}))
            found[-1].marks[row["figure"]] = float(row["per cent"])
    return found, found[-1].minutes if found else 0.0


def write(out: Path, found: Sequence[Point]) -> None:
    """`curve.csv`, a line a figure, and `curve.png` and `.svg`, a panel a stage."""
    require()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    out.mkdir(parents=True, exist_ok=True)
    with (out / "curve.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(_HEADER)
        table.writerows((p.run, f"{p.minutes:.1f}", p.step, name, mark) for p in found for name, mark in p.marks.items())
    stages = list(dict.fromkeys(point.run for point in found))
    figure, panels = plt.subplots(1, len(stages), figsize=(5.8 * len(stages), 4.8), layout="constrained", squeeze=False)
    titles = {"see": "the eye: characters and pieces of text named", "answer": "the reader: questions answered exactly"}
    for axes, stage in zip(panels[0], stages, strict=True):
        mine = [point for point in found if point.run == stage]
        for number, name in enumerate(dict.fromkeys(name for point in mine for name in point.marks)):
            shown = [(point.minutes, point.marks[name]) for point in mine if name in point.marks]
            axes.plot(
                *zip(*shown, strict=True),
                color=COLOURS[number % len(COLOURS)],
                marker=MARKS[number % len(MARKS)],
                linestyle="-" if number < len(COLOURS) else ":",
                linewidth=1.4,
                label=name,
            )
        axes.set(xlabel="minutes of training, two cores", ylabel="per cent", ylim=(0, 101))
        axes.set_title(titles.get(stage, stage), fontsize=10)
        axes.grid(True, axis="y", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    figure.savefig(out / "curve.png", dpi=160)
    figure.savefig(out / "curve.svg", metadata={"Date": None})
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eval.training.curve", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="+", metavar="LOG")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    args = parser.parse_args(argv)
    try:
        found = points(args.logs)
        if not found:
            raise ValueError("no examination in these logs; train with --exam-every")
        write(args.out, found)
    except (OSError, ValueError, PlotsUnavailable) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(found)} examinations: {args.out / 'curve.csv'}, curve.png, curve.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
