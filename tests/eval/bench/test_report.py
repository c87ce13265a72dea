"""Tables: aligned, rectangular, and whole in CSV."""

import csv
import io

from eval.bench.report import as_csv, requests_csv, table
from eval.bench.served import PARTS, Request


def test_a_table_is_aligned_and_its_numbers_stand_to_the_right() -> None:
    lines = table([["what", "ms"], ["a long name", "1.00"], ["b", "10.00"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "|:------------|------:|"
    assert lines[2] == "| a long name |  1.00 |"


def test_every_request_is_a_line_with_every_part() -> None:
    text = requests_csv([("reader", Request("ram", 3, {"load": 0.25}, 0.5, 100, 16, 7))])
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["model"], row["way"], row["number"], row["load"], row["first_token"]) == ("reader", "ram", "3", "0.25", "0.5")
    assert set(PARTS) <= set(row)
    assert row["encode"] == ""


def test_csv_has_the_heads_of_its_rows() -> None:
    assert as_csv([{"a": 1, "b": 2}]) == "a,b\n1,2\n"
