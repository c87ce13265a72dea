"""The words at the top say what is measured, to someone who has read neither paper."""

import re
from html import unescape

from eval.report.claims import VERDICTS
from eval.report.explain import TERMS, badge, explain


def test_it_explains_the_cache_the_conditions_the_patch_and_every_verdict() -> None:
    said = explain()
    for term in ("KV cache", "free, dummy, template", "patch (Kamera)", "promotion (QV-PIC)", "time to the first token"):
        assert term in TERMS
        assert f"<dt>{term}</dt>" in said
    assert all(badge(verdict) in said for verdict in VERDICTS)


def test_it_says_nothing_of_what_came_out() -> None:
    # Figures in it are names: arXiv's, F1, DPI, and the width of an interval.
    words = unescape(re.sub(r"<[^>]*>", " ", explain()))
    assert set(re.findall(r"\d+(?:\.\d+)?", words)) <= {"2608.12121", "2606.23581", "1", "72", "120", "95"}
