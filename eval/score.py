"""Predictions and gold answers in; LongBench's token F1, exact match and its interval out.

The rules are those of LongBench v1 (THUDM/LongBench at 2e00731f8d0b, `metrics.py` and `eval.py`), odd corners included: a score that is
not theirs to the second decimal cannot be set beside theirs.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

# Tasks whose prompt is a run of worked examples: a model goes on writing the next one, so only the first line is its answer.
FIRST_LINE_TASKS = frozenset({"triviaqa", "trec", "samsum", "lsht"})

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """Lower case, without the 32 ASCII punctuation signs, without articles, white space as single spaces.

    Nothing more: accents, curly quotes, en dashes and full-width letters stay as they are. Signs go before articles do,
    and leave no space behind, so "U.S.A." is "usa" and "the_end" is one word.
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(prediction: str, answer: str) -> float:
    """Harmonic mean of precision and recall over the words that both hold, counted with repetition. 0 where either side is empty."""
    said, gold = normalise(prediction).split(), normalise(answer).split()
    common = sum((Counter(said) & Counter(gold)).values())
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def score_sample(task: str, prediction: str, answers: Sequence[str]) -> float:
    """The best token F1 over the gold answers, 0 to 1; 0 where there are none."""
    if task in FIRST_LINE_TASKS:
        prediction = prediction.lstrip("\n").split("\n", 1)[0]
    return max((token_f1(prediction, answer) for answer in answers), default=0.0)


def score_task(task: str, predictions: Sequence[str], answers: Sequence[Sequence[str]]) -> float:
    """Mean sample score in per cent, two decimals; `answers[i]` are the gold answers to `predictions[i]`.

    The sum is divided by the number of predictions. LongBench pairs the two lists and lets a missing row pass unseen;
    here unequal lengths, or none at all, raise ValueError, for a score over half a task looks like a score.
    """
    if not predictions or len(predictions) != len(answers):
        raise ValueError(f"{task}: {len(predictions)} predictions for {len(answers)} rows; score one prediction a row")
    total = sum(score_sample(task, prediction, gold) for prediction, gold in zip(predictions, answers, strict=True))
    return round(100 * total / len(predictions), 2)


def exact_match(prediction: str, answers: Sequence[str]) -> bool:
    """Whether the prediction is one of the answers to the letter, white space at both ends apart.

    Stricter than a token F1 of 1: case and signs count.
    """
    return prediction.strip() in {answer.strip() for answer in answers}


def wilson(k: int, n: int) -> tuple[float, float]:
    """The 95 % interval (low, high), 0 to 1, of a proportion seen k times in n (E. B. Wilson, 1927).

    It stays inside [0, 1] and is honest at k = 0 and k = n, where the usual mean plus or minus 1.96 deviations has no width.
    """
    if not 0 <= k <= n or n == 0:
        raise ValueError(f"{k} of {n} is not a proportion")
    z = 1.959964
    share, square = k / n, z * z / n
    middle = share + square / 2
    half = z * math.sqrt(share * (1 - share) / n + square / (4 * n))
    # At the ends the bound is 0 or 1 exactly; floating point comes close to it on either side.
    return (0.0 if k == 0 else (middle - half) / (1 + square)), (1.0 if k == n else (middle + half) / (1 + square))
