"""All arms of a run are asked the same questions, in groups."""

from eval.longbench.records import Record
from eval.questions.asked import Drawn, context_of, group_of, grouped


def test_drawn_questions_are_n_for_each_number_of_pages_and_have_so_many() -> None:
    rows = Drawn(5, (2, 3), lines=4, each=2).rows()
    found = grouped({"records": rows})
    assert {group: len(records) for group, records in found.items()} == {"2 pages": 5, "3 pages": 5}
    assert all(record.context.count("\f") == int(group[0]) - 1 for group, records in found.items() for record in records)
    assert rows == Drawn(5, (2, 3), lines=4, each=2).rows()


def test_questions_of_one_context_share_its_name() -> None:
    first, second, third = Drawn(3, (2,), lines=4, each=2).rows()
    assert context_of(first) == context_of(second) != context_of(third)


def test_a_longbench_row_is_of_its_tasks_group() -> None:
    assert group_of(Record("musique", "7", "q", "c", ("a",), 1)) == "musique"
    assert group_of(Record("records", "made by hand", "q", "c", ("a",), 1)) == "records"
