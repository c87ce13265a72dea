"""The task `records`: asked for by name or by a file of its own, with its own pages, and in no list of the six."""

import pytest

from eval.longbench import drawn
from eval.longbench.arms import make_arm
from eval.longbench.drawn import DRAWN, chosen, with_drawn
from eval.longbench.errors import BadRecord, NoData, UnknownTask
from eval.longbench.house import House
from eval.longbench.tasks import GLYPH, OFFICIAL, TASKS
from eval.records import samples, write

SAMPLES = samples("sections", 1, 2, 6, seed=5, each=2)


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "records.jsonl", SAMPLES)
    return tmp_path / "records.jsonl"


def test_a_file_of_records_is_read_as_it_was_drawn(path) -> None:
    found = drawn.read(path)
    assert list(found) == [DRAWN]
    assert [(row.input, row.context, row.answers) for row in found[DRAWN]] == [(s.question, s.context, (s.answer,)) for s in SAMPLES]
    assert len(drawn.read(path, limit=1)[DRAWN]) == 1


def test_in_a_folder_records_are_read_where_they_are_asked_for(path, fixtures) -> None:
    folder = path.parent
    (folder / "musique.jsonl").write_bytes((fixtures / "musique.jsonl").read_bytes())
    assert list(drawn.read(folder)) == ["musique"]
    assert list(drawn.read(folder, ("records",))) == [DRAWN]
    assert list(drawn.read(folder, chosen("records,musique"))) == ["musique", DRAWN]


def test_what_is_not_there_is_told(path, fixtures, tmp_path) -> None:
    with pytest.raises(NoData, match="no rows of records"):
        drawn.read(fixtures, ("records",))
    with pytest.raises(NoData, match="no rows of records"):
        drawn.read(fixtures / "musique.jsonl", ("records",))
    with pytest.raises(BadRecord, match="'records', not one of"):
        drawn.read(path, ("musique",))
    (tmp_path / "bad.jsonl").write_text('{"dataset": "records", "context": "x"}\n')
    with pytest.raises(BadRecord, match="line 1"):
        drawn.read(tmp_path / "bad.jsonl")


def test_names_of_tasks_may_hold_records_and_nothing_else_besides_the_six() -> None:
    assert chosen(None) is None
    assert chosen("records") == ("records",)
    assert chosen("records, triviaqa,hotpotqa") == ("hotpotqa", "triviaqa", "records")
    for text in ("", "records,qasper"):
        with pytest.raises(UnknownTask):
            chosen(text)
    assert DRAWN not in TASKS


@pytest.mark.parametrize("protocol", [OFFICIAL, GLYPH], ids=lambda protocol: protocol.name)
def test_the_bare_question_is_asked_with_room_for_24_tokens(protocol, backbone, path) -> None:
    house, record = House(backbone, with_drawn(protocol)), drawn.read(path)[DRAWN][0]
    assert house.question_ids(record) == backbone.question_ids(record.input)
    assert house.limit(DRAWN) == 24


def test_pages_are_the_records_own_in_either_medium(backbone, llama, path) -> None:
    record = drawn.read(path)[DRAWN][0]
    pages = ["\n".join(page) for page in SAMPLES[0].pages]
    house = House(backbone, with_drawn(OFFICIAL), max_length=64)
    assert [sheet.text for sheet in house.sheets(record)] == pages
    runs = House(llama, with_drawn(OFFICIAL), max_length=64).texts(record, 5)
    assert [llama.tokenizer.decode(run.ids).rstrip("\n") for run in runs] == pages


def test_a_page_that_does_not_fit_is_told(backbone, path) -> None:
    write(path, samples("build", 1, 1, 40, seed=1, each=1))
    with pytest.raises(BadRecord, match="draw fewer lines"):
        House(backbone, with_drawn(OFFICIAL)).sheets(drawn.read(path)[DRAWN][0])


@pytest.mark.parametrize("name", ["image-full@120", "image-pic@120+patch", "text-pic+epic-2"])
def test_the_same_arms_answer_it(name, backbone, path) -> None:
    house = House(backbone, with_drawn(OFFICIAL))
    for record in drawn.read(path)[DRAWN]:
        assert make_arm(name, house).answer(DRAWN, record).text
