"""Real processes on one home, killed at any instant or working side by side: nothing that was acknowledged is lost, and the home is clean.

One process loads the model and forks: each fork is a process of its own, with its own catalogue, locks and threads.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

COMMON = """
import io, json, os, random, shutil, signal, sys, time
from pathlib import Path
from cache_compiler.load import load_backbone
from ingest.backup import backup
from ingest.errors import BadBackup, HomeBusy
from ingest.evict import evict
from ingest.gc import gc
from ingest.home import Home
from ingest.jobs import FINAL, JobQueue
from ingest.opening import open_workshop
from ingest.pipeline import ingest
from ingest.remove import remove_document, remove_orphans
from ingest.verify import verify
from retrieval.embedder import load_embedder
from retrieval.errors import UnknownDocument

folder = Path(sys.argv[1])
backbone, embedder = load_backbone("reader"), load_embedder("minilm")
log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def note(*words):
    os.write(log, (" ".join(words) + "\\n").encode())

def opened():
    return open_workshop(Home(folder / "home"), backbone, embedder, batch=2)

def text(name, version):
    # Two pages, the second shared by all: a page that must outlive its first owner.
    return f"{name} tower, the {version}th, has staff 899 people.\\fThis page is the same in every document.\\n"

def forked(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

def settled():
    # What a server does when it starts, until its queue is empty.
    workshop = opened()
    queue = JobQueue(workshop)
    queue.start()
    while workshop.catalogue.jobs(states=("queued", "running")):
        time.sleep(0.02)
    queue.stop()
    remove_orphans(workshop)
    return workshop
"""

CRASHING = (
    COMMON
    + """
seed, rounds = int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)

def live(seed):
    draw = random.Random(seed)
    workshop = opened()
    queue = JobQueue(workshop)
    queue.start()
    for step in range(1000):
        name, act = draw.choice("abc"), draw.choice(["upload", "upload", "take", "delete", "evict", "backup", "gc"])
        if act == "upload":
            row = queue.submit(f"{name}.txt", io.BytesIO(text(name, step).encode()), "default", replace=True)
            note("up", row.id)
        elif act == "take":
            path = folder / f"k-{name}.txt"
            path.write_text(text(f"k{name}", step))
            if ingest([path], "default", workshop, replace=True).done:
                note("in", path.name)
        elif act == "delete":
            for row in workshop.catalogue.documents("default")[:1]:
                note("out", row.name)
                try:
                    remove_document(workshop, row.id)
                except UnknownDocument:
                    pass
        elif act == "evict":
            evict(workshop, draw.randrange(1_000_000))
        elif act == "backup":
            target = folder / f"backup-{seed}-{step}"
            try:
                backup(workshop.home, target)
            except BadBackup as error:
                note("bad", str(error))
            shutil.rmtree(target)
        else:
            gc(workshop)

for number in range(rounds):
    pid = forked(lambda: live(seed * 1000 + number))
    until = time.monotonic() + 60
    while not number and b"up " not in (folder / "log").read_bytes() and time.monotonic() < until:
        time.sleep(0.02)  # the first one is not killed before it has something to lose
    time.sleep(draw.uniform(0.05, 1.6))
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status), f"round {number}: it ended by itself"

def judge():
    workshop = settled()
    found = verify(workshop)
    names = [row.name for row in workshop.catalogue.documents("default")]
    states = {}
    for job in workshop.catalogue.jobs():
        states[job.id] = [job.state, job.error]
    print(json.dumps({"findings": found.as_dict(), "names": names, "jobs": states}))
    sys.stdout.flush()

assert os.waitpid(forked(judge), 0)[1] == 0
"""
)

BESIDE = (
    COMMON
    + """
def serve():
    workshop = opened()
    queue = JobQueue(workshop)
    queue.start()
    jobs = [queue.submit(f"{name}.txt", io.BytesIO(text(name, 1).encode()), "default", replace=True).id for name in "ab"]
    while any(queue.job(job).state not in FINAL for job in jobs):
        time.sleep(0.02)
    assert [queue.job(job).error for job in jobs] == [""] * 2
    queue.stop()

def command():
    workshop = opened()
    for version in range(2):
        paths = []
        for name in "vw":
            paths.append(folder / f"{name}.txt")
            paths[-1].write_text(text(name, version))
        report = ingest(paths, "default", workshop, replace=True)
        assert len(report.done) == 2, report
    row = workshop.catalogue.document_named("default", "v.txt")
    remove_document(workshop, row.id)

opened().collection("default", create=True)
pids = [forked(serve), forked(command)]
assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0]

def judge():
    workshop = settled()
    found = verify(workshop)
    print(json.dumps({"findings": found.as_dict(), "names": [row.name for row in workshop.catalogue.documents("default")]}))
    sys.stdout.flush()

assert os.waitpid(forked(judge), 0)[1] == 0
"""
)


def run(program: str, *words: str) -> dict[str, object]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    ended = subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr[-4000:]
    told: dict[str, object] = json.loads(ended.stdout.splitlines()[-1])
    return told


@pytest.mark.parametrize("rounds", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_a_process_killed_at_any_instant_leaves_a_clean_home_and_loses_nothing_it_had_acknowledged(tmp_path: Path, rounds: int) -> None:
    told = run(CRASHING, str(tmp_path), "7", str(rounds))
    assert told["findings"]["findings"] == [], told["findings"]  # type: ignore[index]
    lines = [line.partition(" ") for line in (tmp_path / "log").read_text().splitlines()]
    assert not [words for act, _, words in lines if act == "bad"]
    gone = {words for act, _, words in lines if act == "out"}
    names, jobs = set(told["names"]), dict(told["jobs"])  # type: ignore[call-overload, arg-type]
    for act, _, words in lines:
        if act == "in" and words not in gone:
            assert words in names
        if act == "up" and words in jobs:  # a job may have gone with its document
            assert jobs[words] == ["done", ""]
    if not gone & {"a.txt", "b.txt", "c.txt"}:
        assert {words for act, _, words in lines if act == "up"} <= set(jobs)
    assert [act for act, *_ in lines].count("up") > 0


@pytest.mark.slow
def test_a_server_and_a_command_write_into_one_home_at_once(tmp_path: Path) -> None:
    told = run(BESIDE, str(tmp_path))
    assert told["findings"]["findings"] == []  # type: ignore[index]
    assert told["names"] == ["a.txt", "b.txt", "w.txt"]
