"""Records and arms go in; a line for every sample of every arm comes to stand in the results file, whatever fails on the way.

An error that a record brings on itself (no context, too many pages) is its last word: score 0. Any other (out of memory, a device lost)
may be none of its fault: score 0 too, and the next run does it again. Several of those in a row are a model that has stopped, and end the run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing

from app.ask import DOMAIN_ERRORS

from .arms import Arm, Reply
from .errors import BadResults, ModelStopped
from .progress import Progress
from .records import Record
from .results import Line, Results
from .tasks import Protocol

# So many failures in a row, of one arm, are no accident.
STOPPED_AFTER = 5

Sample = tuple[Arm, Record]


def run(
    records: Mapping[str, Sequence[Record]],
    arms: Sequence[Arm],
    protocol: Protocol,
    results: Results,
    workers: int = 1,
    progress: Progress | None = None,
) -> None:
    """Do what is not done yet; arms follow each other on a record, which is drawn and compiled once.

    Raises BadResults where a finished line is of other words than its record now has; ModelStopped; OSError where the disk is full.
    However it ends, finished samples stay.
    """
    samples = [(arm, record) for group in records.values() for record in group for arm in arms]
    wanted = [sample for sample in samples if not _finished(sample, results)]
    progress = progress or Progress(len(samples), len(samples) - len(wanted))
    failed: Counter[str] = Counter()
    # Closed at once, whatever happens: workers' samples in hand are written before an error goes on.
    with closing(_lines(wanted, protocol, workers, results)) as lines:
        for line in lines:
            progress.step()
            if line.error is None:
                failed[line.arm] = 0
            elif line.again:
                failed[line.arm] += 1
            if failed[line.arm] >= STOPPED_AFTER:
                raise ModelStopped(
                    f"arm {line.arm}: {STOPPED_AFTER} samples in a row failed, the last with {line.error}; {len(results.done)} samples are in "
                    f"{results.path}. Mend the model and run the same command again: what failed so is done again, the rest is kept"
                )


def _finished(sample: Sample, results: Results) -> bool:
    arm, record = sample
    line = results.done.get((arm.name, record.task, record.id))
    if line is None:
        return False
    if line.digest != record.digest:
        raise BadResults(
            f"{results.path}: {record.task} {record.id} was answered over other words than the data has now; "
            "give the data it was begun with, or another --out"
        )
    return not line.again


def _lines(samples: Sequence[Sample], protocol: Protocol, workers: int, results: Results) -> Generator[Line, None, None]:
    """Each line when it is on the disk. With several workers, a stop waits for the samples in hand and keeps them."""
    if workers == 1:
        for arm, record in samples:
            line = _sample(arm, record, protocol)
            results.append(line)
            yield line
        return
    left = iter(samples)
    running: set[Future[Line]] = set()
    with ThreadPoolExecutor(workers, thread_name_prefix="longbench") as pool:
        try:
            while True:
                while len(running) < workers and (sample := next(left, None)):
                    running.add(pool.submit(_sample, *sample, protocol))
                if not running:
                    return
                ready, running = wait(running, return_when=FIRST_COMPLETED)
                yield from _kept(ready, results)
        finally:
            # Nobody listens any more, but what is finished must not be lost.
            _kept(running, results)


def _kept(futures: Collection[Future[Line]], results: Results) -> list[Line]:
    """Wait for the samples and write them; a stop that came out of one of them is raised when all the others are written."""
    stops = [error for future in futures if (error := future.exception()) is not None]
    lines = [future.result() for future in futures if future.exception() is None]
    for line in lines:
        results.append(line)
    if stops:
        raise stops[0]
    return lines


def _sample(arm: Arm, record: Record, protocol: Protocol) -> Line:
    begun = time.perf_counter()
    again = False
    try:
        reply = arm.answer(record.task, record)
    except DOMAIN_ERRORS as error:
        reply = Reply("", error=f"{type(error).__name__}: {error}")
    except Exception as error:
        again = True
        reply = Reply("", error=f"{type(error).__name__}: {error}")
    said = reply.error is None
    return Line(
        arm=arm.name,
        task=record.task,
        id=record.id,
        digest=record.digest,
        pred=protocol.clean(reply.text) if said else "",
        answers=record.answers,
        length=record.length,
        text=reply.text if said else "",
        tokens=reply.tokens,
        rows=reply.rows,
        first_token_seconds=reply.first_token_seconds,
        seconds=round(time.perf_counter() - begun, 4),
        error=reply.error,
        again=again,
    )
