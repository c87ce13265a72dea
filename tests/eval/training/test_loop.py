"""Training stops cleanly, is not lost to a kill, and goes on as the unbroken run would have gone."""

import os
import signal
from dataclasses import replace

import pytest
import torch

from eval.training.checkpoint import CheckpointError, read_header
from eval.training.loop import Allowance, Habits, _Clock, train
from eval.training.muon import Muon


def goal(rng, spent, shape=None):
    return [rng.random() for _ in range(3)]


class Sum:
    """A stage of one matrix, drawn towards random goals, those of the last three steps together."""

    name = "sum"
    device = torch.device("cpu")
    drawing = staticmethod(goal)
    memory = 3

    def __init__(self, size, at=lambda step: None):
        self.size, self.at, self.steps, self.marks = size, at, 0, []
        self.kept = []
        torch.manual_seed(0)
        self.matrix = torch.nn.Linear(3, 3)
        self.modules = {"matrix": self.matrix}
        self.trained = list(self.matrix.parameters())
        self.optimisers = [torch.optim.AdamW([self.matrix.bias], lr=0.1), Muon([self.matrix.weight], lr=0.1)]

    def take(self, drawn):
        self.kept = [*self.kept, drawn][-3:]

    def learn(self, drawn, rng, shape=None):
        self.steps += 1
        self.at(self.steps)
        self.take(drawn)
        goal = torch.tensor(rng.choice(self.kept)) + torch.rand(3)
        return (self.matrix(torch.ones(3)) - goal).square().sum(), {"steps": float(self.steps)}

    def exam(self):
        return {"mark": self.marks.pop(0)}


def test_a_run_that_was_killed_ends_where_the_unbroken_one_does(tiny, tmp_path):
    def kill(step):
        if step == 6:
            raise SystemExit("killed")

    whole, killed, resumed = Sum(tiny), Sum(tiny, kill), Sum(tiny)
    train(whole, tmp_path / "whole", Allowance(steps=8), seed=3, report=lambda line: None)
    with pytest.raises(SystemExit):
        train(killed, tmp_path / "part", Allowance(steps=8), seed=3, habits=Habits(save_every=2), report=lambda line: None)
    assert read_header(tmp_path / "part").step == 4
    assert train(resumed, tmp_path / "part", Allowance(steps=8), seed=3, report=lambda line: None).step == 8
    assert resumed.steps == 4
    assert torch.equal(whole.matrix.weight, resumed.matrix.weight)
    assert torch.equal(whole.matrix.bias, resumed.matrix.bias)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_step_and_writes_a_checkpoint(tiny, tmp_path, number):
    before = signal.getsignal(number)
    said = []
    stage = Sum(tiny, lambda step: os.kill(os.getpid(), number) if step == 2 else None)
    at = train(stage, tmp_path / "sum", Allowance(steps=50), seed=0, report=said.append)
    assert at.step == read_header(tmp_path / "sum").step == 2
    assert "stopped" in said[-1]
    assert signal.getsignal(number) is before


def test_a_spent_allowance_takes_no_further_step(tiny, tmp_path):
    train(Sum(tiny), tmp_path / "sum", Allowance(steps=3), seed=0, report=lambda line: None)
    again = Sum(tiny)
    train(again, tmp_path / "sum", Allowance(steps=3), seed=0, report=lambda line: None)
    assert again.steps == 0


def test_minutes_count_over_all_runs():
    assert Allowance(minutes=2).spent(10, 60.0) == 0.5
    assert Allowance(minutes=2, steps=20).spent(10, 1e6) == 0.5


def test_another_runs_checkpoint_is_refused_by_both_values(tiny, tmp_path):
    train(Sum(tiny), tmp_path / "sum", Allowance(steps=1), seed=0, report=lambda line: None)
    with pytest.raises(CheckpointError, match=r"seed 0, .* seed 1"):
        train(Sum(tiny), tmp_path / "sum", Allowance(steps=2), seed=1, report=lambda line: None)
    with pytest.raises(CheckpointError, match="hidden=128"):
        train(Sum(replace(tiny, hidden=128)), tmp_path / "sum", Allowance(steps=2), seed=0, report=lambda line: None)


def test_the_rate_rises_and_falls(tiny, tmp_path):
    stage, rates = Sum(tiny), []
    stage.at = lambda step: rates.append(stage.optimisers[0].param_groups[0]["lr"])
    train(stage, tmp_path / "sum", Allowance(steps=120), seed=0, report=lambda line: None)
    assert rates[0] == pytest.approx(0.001)
    assert 0.04 < max(rates) < 0.1
    assert rates[-1] < 0.01
    assert 20 < rates.index(max(rates)) < 100


def test_the_best_of_all_examinations_is_kept_beside_the_last(tiny, tmp_path):
    stage, said = Sum(tiny), []
    stage.marks = [0.2, 0.6, 0.4, 0.5]
    train(stage, tmp_path / "sum", Allowance(steps=4), seed=0, habits=Habits(exam_every=1e-9), report=said.append)
    assert read_header(tmp_path / "best-sum").step == 3
    assert read_header(tmp_path / "best-sum").best == read_header(tmp_path / "sum").best == 0.6
    assert sum(": exam " in line for line in said) == 3


def test_no_examination_is_held_where_none_is_asked_for(tiny, tmp_path):
    train(Sum(tiny), tmp_path / "sum", Allowance(steps=2), seed=0, report=lambda line: None)
    assert not (tmp_path / "best-sum").exists()


def test_time_in_which_the_process_stood_still_is_not_training(monkeypatch):
    now = iter([100.0, 103.0, 5000.0, 5002.0])
    monkeypatch.setattr("eval.training.loop.time.monotonic", lambda: next(now))
    clock = _Clock(60.0)
    assert [clock.tick() for _ in range(4)] == [60.0, 63.0, 183.0, 185.0]
