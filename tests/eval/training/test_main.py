"""From nothing to a directory in one command, and on again from where it stopped."""

import pytest
import torch
from transformers import AutoTokenizer, Glm4vForConditionalGeneration

from eval.training.__main__ import main
from eval.training.checkpoint import read_header
from eval.training.options import parser

TINY = [
    "--size",
    "tiny",
    "--contexts",
    "50",
    "--batch",
    "2",
    "--threads",
    "1",
    "--shortest",
    "3",
    "--longest",
    "3",
    "--exam-every",
    "0",
    "--nice",
    "0",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    assert main(["all", "--out", str(folder), "--steps", "3", *TINY]) == 0
    return folder


def test_all_stages_leave_a_directory_that_the_stock_classes_load(run):
    tokenizer = AutoTokenizer.from_pretrained(run / "model")
    net = Glm4vForConditionalGeneration.from_pretrained(run / "model").eval()
    ids = tokenizer("Clifai price?", return_tensors="pt")["input_ids"]
    said = net.generate(input_ids=ids, max_new_tokens=3, do_sample=False)
    assert said.shape[1] > ids.shape[1]
    assert torch.isfinite(net(input_ids=ids).logits).all()


def test_a_larger_allowance_goes_on_at_the_step_it_left(run, capsys):
    assert read_header(run / "see.safetensors").step == 3
    assert main(["see", "--out", str(run), "--steps", "5", *TINY]) == 0
    assert "goes on at step 3" in capsys.readouterr().out
    assert read_header(run / "see.safetensors").step == 5


def test_a_further_course_starts_from_the_last_one(run, tmp_path):
    start = ["--from", str(run / "answer.safetensors"), "--pages", "1,2"]
    assert main(["answer", "--out", str(tmp_path), "--steps", "1", *TINY, *start]) == 0
    assert read_header(tmp_path / "answer.safetensors").step == 1
    assert (tmp_path / "tokenizer.json").read_bytes() == (run / "tokenizer.json").read_bytes()


def test_a_directory_is_taken_up_again_larger_with_its_places_and_its_binding_taught(run, tmp_path, capsys):
    taught = ["--from", str(run / "model"), "--placing", "0.3", "--binding", "0.3", "--text", "0.0"]
    assert main(["answer", "--out", str(tmp_path / "larger"), "--steps", "1", *TINY, *taught, "--layers", "4", "--kv-heads", "4"]) == 0
    said = capsys.readouterr().out
    assert said.index("heads ") < said.index("answer ")
    assert "placed 0." in said
    assert "bound 0." in said
    assert main(["answer", "--out", str(tmp_path / "larger"), "--steps", "2", *TINY, *taught, "--layers", "4", "--kv-heads", "4"]) == 0
    assert "heads " not in capsys.readouterr().out, "what goes on has its heads"
    header = read_header(tmp_path / "larger" / "answer.safetensors")
    assert (header.size.layers, header.size.kv_heads) == (4, 4)
    assert main(["answer", "--out", str(tmp_path / "shallow"), "--steps", "1", *TINY, *taught, "--kv-heads", "4"]) == 2
    assert "binding needs two layers" in capsys.readouterr().err


def test_a_stage_before_its_time_names_the_missing_file(tmp_path, capsys):
    assert main(["answer", "--out", str(tmp_path), "--steps", "1", *TINY]) == 2
    assert "see.safetensors is not there" in capsys.readouterr().err


def test_every_option_of_the_stages_can_be_given():
    from dataclasses import fields

    from eval.training.answer import AnswerOptions
    from eval.training.lessons import Course
    from eval.training.model import Size
    from eval.training.see import SeeOptions

    known = {action.dest for action in parser()._actions}
    # A curriculum is a file; only the growing of heads holds the eye still.
    assert {f.name for kind in (Course, AnswerOptions, SeeOptions, Size) for f in fields(kind)} - {"curriculum", "still"} <= known


def test_a_curriculum_from_a_file_is_followed_and_a_wrong_one_refused(run, tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text("[[part]]\nshare = 1\n[[part.course]]\nshortest = 2\nlongest = 2\ntext = 1.0\n")
    start = ["--from", str(run / "see.safetensors"), "--out", str(tmp_path / "out"), "--steps", "1", *TINY, "--curriculum", str(plan)]
    assert main(["answer", *start]) == 0
    assert "image -" in capsys.readouterr().out
    plan.write_text("[[part]]\nshare = 2\n[[part.course]]\n")
    assert main(["answer", *start]) == 2
    assert "make 2, not 1" in capsys.readouterr().err


def test_the_defaults_in_the_help_are_those_of_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    from eval.training.answer import AnswerOptions
    from eval.training.lessons import Course
    from eval.training.options import _COUNTS, _COURSE_COUNTS, _COURSE_SHARES, _WEIGHTS

    options = AnswerOptions()
    from eval.training.see import SeeOptions

    for name, says in {**_COUNTS, **_WEIGHTS, **_COURSE_COUNTS, **_COURSE_SHARES}.items():
        field = name.replace("-", "_")
        value = getattr(options, field, None)
        value = getattr(Course(), field, None) if value is None else value
        value = getattr(SeeOptions(), field) if value is None else value
        assert f"({value}" in says, name


@pytest.mark.slow
def test_a_directory_is_taken_up_again_by_two_workers_heads_first(run, tmp_path):
    again = ["--from", str(run / "model"), "--eye-layers", "2", "--workers", "2"]
    assert main(["see", "--out", str(tmp_path), "--steps", "2", *TINY, *again]) == 0
    assert read_header(tmp_path / "heads.safetensors").step == 2
    header = read_header(tmp_path / "see.safetensors")
    assert (header.step, header.size.eye_layers) == (2, 2)
