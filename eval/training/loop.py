"""A stage and an allowance of minutes or steps in; a trained stage and its checkpoint out. Stops cleanly and goes on where it stopped."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .checkpoint import CheckpointError, Header, load, save
from .draws import Drawing, draw, generator
from .model import Size
from .muon import Muon
from .team import Team

WARM_UP = 100  # steps
_LONGEST = 120.0  # seconds
# The rate falls linearly over the last 60 % of the allowance, to 5 %.
_FALL, _FLOOR = 0.6, 0.05


class Stage(Protocol):
    """What the loop needs of a stage. `modules` go into its checkpoint; `trained` move; `memory` is how many steps' draws it keeps."""

    name: str
    size: Size
    device: torch.device
    drawing: Drawing
    memory: int
    modules: Mapping[str, nn.Module]
    trained: Sequence[nn.Parameter]
    optimisers: Sequence[torch.optim.Optimizer]

    def take(self, drawn: Any) -> None:
        """Keep what an earlier step drew, as that step did: a run is resumed."""
        ...

    def learn(self, drawn: Any, rng: Random, shape: Random | None = None) -> tuple[Tensor, dict[str, float]]:
        """The loss of a step's batch, and figures to report (nan: the batch had none). `shape` as in `Drawing`."""
        ...

    def exam(self) -> dict[str, float]:
        """How well it does on pages that are always the same and that nothing is trained on; the mean decides which checkpoint is best."""
        ...


@dataclass(frozen=True)
class Allowance:
    """How long a stage may take in all, resumed runs added up: minutes, or a number of steps (which then alone counts)."""

    minutes: float = 15.0
    steps: int | None = None

    def spent(self, step: int, seconds: float) -> float:
        """0 at the start, 1 and more at the end."""
        return step / self.steps if self.steps else seconds / (60 * self.minutes)


def optimisers(modules: Iterable[nn.Module], trained: Sequence[nn.Parameter], rate: float, muon_rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the weight matrices, AdamW for the rest: embeddings, the output head, norms, convolutions, biases."""
    moving = {id(p) for p in trained}
    matrices = [
        p
        for module in modules
        for name, p in module.named_parameters()
        if id(p) in moving and p.ndim == 2 and "embed" not in name and "lm_head" not in name and name != "bias"
    ]
    chosen = {id(p) for p in matrices}
    rest = [p for p in trained if id(p) not in chosen]
    adam = torch.optim.AdamW(rest, lr=rate, weight_decay=0.0, betas=(0.9, 0.95))
    return [adam, Muon(matrices, lr=muon_rate)] if matrices else [adam]


def say(line: str) -> None:
    """Print at once: into a file or a pipe, too, a run of hours is watched while it runs."""
    print(line, flush=True)


@dataclass(frozen=True)
class Habits:
    """save_every: steps between checkpoints; report_every: steps between lines; exam_every: minutes between examinations (0: none);
    hands: processes that draw ahead.
    """

    save_every: int = 250
    report_every: int = 20
    exam_every: float = 0.0
    hands: int = 0


def train(
    stage: Stage,
    path: Path,
    allowance: Allowance,
    seed: int,
    habits: Habits | None = None,
    report: Callable[[str], None] = say,
    team: Team | None = None,
) -> Header:
    """Train until the allowance is spent or somebody asks to stop (Ctrl-C, SIGTERM); either way the checkpoint at `path` is written.

    If `path` is there already, training goes on at the step it left. The draws of step n come from a generator seeded by (seed, stage,
    n): with an allowance of steps a resumed run ends bit for bit where the unbroken one would have (minutes pass differently each time).
    Each further member of a team draws its own batches; only the first reports, examines and writes. The checkpoint with the best mean of an
    exam is kept beside the last, as `best-...`.
    """
    team, habits = team or Team(), habits or Habits()
    rates = [group["lr"] for optimiser in stage.optimisers for group in optimiser.param_groups]
    at = Header(stage.name, 0, 0.0, seed, stage.size)
    if path.exists():
        at = load(path, stage.modules, stage.optimisers)
        if (at.stage, at.seed, at.size) != (stage.name, seed, stage.size):
            raise CheckpointError(
                f"{path} is of stage {at.stage}, seed {at.seed}, {at.size}; this run is of stage {stage.name}, seed {seed}, {stage.size}: "
                "name another --out or the same seed and size"
            )
        if team.leads:
            report(f"{stage.name}: goes on at step {at.step}, {at.seconds / 60:.1f} minutes in")
    team.align(stage.modules)
    for optimiser in stage.optimisers:
        if isinstance(optimiser, Muon):
            optimiser.team = team
    examiner = _Examiner(stage, path, habits.exam_every, report)
    recent: deque[dict[str, float]] = deque(maxlen=habits.report_every)
    saved = at.step
    with _stop_signals() as stopping:
        stop, seconds = team.agree(False, at.seconds)
        clock = _Clock(seconds)
        first = max(0, at.step - stage.memory)
        steps = ((step, allowance.spent(step, clock.seconds)) for step in count(first))
        drawn = draw(stage.drawing, seed, stage.name, team.rank, steps, habits.hands)
        if allowance.spent(at.step, seconds) < 1:
            for _ in range(first, at.step):
                stage.take(next(drawn))
        # The clock stands while what the stage remembers is drawn again.
        clock.tick()
        while not stop and allowance.spent(at.step, seconds) < 1:
            _set_rates(stage.optimisers, rates, at.step, allowance.spent(at.step, seconds))
            recent.append(_step(stage, next(drawn), *_generators(seed, stage.name, at.step, team.rank), team))
            stop, seconds = team.agree(stopping.is_set(), clock.tick())
            at = replace(at, step=at.step + 1, seconds=seconds)
            if team.leads and at.step % habits.report_every == 0:
                report(_line(at, recent))
            if team.leads and at.step - saved >= habits.save_every:
                save(path, at, stage.modules, stage.optimisers)
                saved = at.step
            if team.leads and not stop and examiner.is_due(seconds):
                at = examiner.examine(at)
    if team.leads:
        if habits.exam_every and at.step > examiner.step and not stop:
            at = examiner.examine(at)
        save(path, at, stage.modules, stage.optimisers)
        report(f"{_line(at, recent)} | {'stopped, run again to go on' if stop else 'done'}: {path}")
    team.part()
    return at


class _Clock:
    """Seconds of training, those of the runs before included. It is read once a step.

    What is longer than `_LONGEST` is no step: the process was stopped for a while (SIGSTOP) or the machine slept, and that is not training.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._last = math.inf

    def tick(self) -> float:
        """Add the time since the last tick (the first only starts it)."""
        now = time.monotonic()
        self.seconds += min(max(0.0, now - self._last), _LONGEST)
        self._last = now
        return self.seconds


class _Examiner:
    """Examines from time to time and keeps the best."""

    def __init__(self, stage: Stage, path: Path, every: float, report: Callable[[str], None]) -> None:
        self.stage, self.best, self.every, self.report = stage, path.with_name(f"best-{path.name}"), every, report
        self.last: float | None = None
        self.step = 0

    def is_due(self, seconds: float) -> bool:
        self.last = seconds if self.last is None else self.last
        return self.every > 0 and seconds - self.last >= 60 * self.every

    def examine(self, at: Header) -> Header:
        """The header with the best score so far."""
        began = time.monotonic()
        marks = self.stage.exam()
        score = sum(marks.values()) / len(marks)
        at = replace(at, best=max(at.best, score))
        if score >= at.best:
            save(self.best, at, self.stage.modules, ())
        self.step = at.step
        self.last = at.seconds + time.monotonic() - began
        found = ", ".join(f"{name} {100 * mark:.1f}" for name, mark in marks.items())
        self.report(f"{at.stage} {at.seconds / 60:6.1f} min, step {at.step}: exam {100 * score:.1f} (best {100 * at.best:.1f}): {found}")
        return at


def _generators(seed: int, stage: str, step: int, rank: int) -> tuple[Random, Random]:
    """A step's own generator, and the one that all members share."""
    return generator(seed, stage, step, rank, "learn"), generator(seed, stage, step, use="choose")


def _step(stage: Stage, drawn: Any, rng: Random, shape: Random, team: Team) -> dict[str, float]:
    torch.manual_seed(rng.getrandbits(63))
    # A CPU without bf16 units emulates it, 300 times slower.
    with torch.autocast(stage.device.type, torch.bfloat16, enabled=stage.device.type == "cuda"):
        loss, figures = stage.learn(drawn, rng, shape)
    for optimiser in stage.optimisers:
        optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    team.mean(stage.trained)
    torch.nn.utils.clip_grad_norm_(stage.trained, 1.0)
    for optimiser in stage.optimisers:
        optimiser.step()
    return {"loss": float(loss.detach()), **figures}


def _set_rates(optimisers: Sequence[torch.optim.Optimizer], rates: Sequence[float], step: int, spent: float) -> None:
    share = min(1.0, (step + 1) / WARM_UP) * (_FLOOR + (1 - _FLOOR) * min(1.0, (1 - spent) / _FALL))
    groups = (group for optimiser in optimisers for group in optimiser.param_groups)
    for group, rate in zip(groups, rates, strict=True):
        group["lr"] = rate * share


def _line(at: Header, recent: Sequence[Mapping[str, float]]) -> str:
    names = dict.fromkeys(name for figures in recent for name in figures)
    parts = []
    for name in names:
        known = [figures[name] for figures in recent if not math.isnan(figures.get(name, math.nan))]
        parts.append(f"{name} {sum(known) / len(known):.3f}" if known else f"{name} -")
    return f"{at.stage} {at.seconds / 60:6.1f} min, step {at.step}: {', '.join(parts)}"


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets, so that the step in hand is finished first; a second Ctrl-C interrupts as ever."""
    stopping = threading.Event()
    # Only the main thread may set handlers; elsewhere nobody presses Ctrl-C.
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return

    def stop(number: int, frame: object) -> None:
        stopping.set()
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
