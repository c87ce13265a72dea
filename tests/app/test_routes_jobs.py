"""Jobs over HTTP, of a running server: their lists in parts, and every change as it happens."""

import itertools
import json
import threading
import time

import httpx
import pytest

TEXT = "Gray farm:\n  its fuel is coal\n  region: Clifai\n"


def submit(live, title: str, collection: str = "watched") -> dict:
    body = {"title": title, "text": f"{TEXT}{title}:\n  its gate is 41\n", "collection": collection}
    return httpx.post(f"{live.url}/v1/documents/text", json=body, timeout=60).json()


def finished(live, job: str) -> dict:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        row = httpx.get(f"{live.url}/v1/jobs/{job}").json()
        if row["state"] in ("done", "failed", "cancelled"):
            return row
        time.sleep(0.02)
    raise AssertionError("the job did not end in a minute")


def test_a_job_tells_its_way_until_it_ends(live):
    job = submit(live, "way")
    with httpx.stream("GET", f"{live.url}/v1/jobs/{job['id']}/events", timeout=60) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = list(response.iter_lines())
    assert {line for line in lines if line.startswith("event:")} == {"event: job"}
    told = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data:")]
    assert {row["id"] for row in told} == {job["id"]}
    assert [row["state"] for row in told[:-1]].count("done") == 0
    assert told[-1]["state"] == "done"
    assert all(earlier != later for earlier, later in itertools.pairwise(told))


def test_a_watcher_of_all_hears_of_every_job_of_its_collection_and_of_no_other(live):
    heard: list[dict] = []
    ready = threading.Event()

    def listen():
        with httpx.stream("GET", f"{live.url}/v1/jobs/events?collection=heard", timeout=60) as response:
            for line in response.iter_lines():
                ready.set()
                if line.startswith("data:"):
                    heard.append(json.loads(line.removeprefix("data: ")))
                    if [row["state"] for row in heard].count("done") == 2:
                        return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    assert ready.wait(30)  # a heartbeat, although nothing is under way
    submit(live, "elsewhere", "unheard")
    jobs = [submit(live, f"heard {number}", "heard")["id"] for number in range(2)]
    listener.join(60)
    assert not listener.is_alive()
    assert {row["id"] for row in heard} == set(jobs)
    for job in jobs:
        states = [row["state"] for row in heard if row["id"] == job]
        assert states[-1] == "done"
        assert states.count("done") == 1


def test_a_watcher_that_comes_late_is_told_first_what_has_not_ended(live):
    let_go = threading.Event()

    def occupy():
        with live.house.workshop.home.writing():
            let_go.wait(30)

    holder = threading.Thread(target=occupy, daemon=True)
    holder.start()
    try:
        job = submit(live, "late", "lately")
        with httpx.stream("GET", f"{live.url}/v1/jobs/events?collection=lately", timeout=60) as response:
            first = next(json.loads(line.removeprefix("data: ")) for line in response.iter_lines() if line.startswith("data:"))
        assert first["id"] == job["id"]
        assert first["state"] in ("queued", "running")
    finally:
        let_go.set()
        holder.join(30)
    assert finished(live, job["id"])["state"] == "done"


def test_times_are_utc_and_grow(live):
    job = finished(live, submit(live, "times")["id"])
    assert job["created"].endswith("Z")
    assert job["created"] <= job["updated"]


def test_jobs_come_in_parts_newest_first_by_collection_and_state(live):
    ids = [submit(live, f"parts {number}", "parts")["id"] for number in range(5)]
    for job in ids:
        finished(live, job)
    seen, after = [], ""
    while True:
        told = httpx.get(f"{live.url}/v1/jobs?collection=parts&state=done&limit=2{after}").json()
        seen += [job["id"] for job in told["jobs"]]
        if told["next"] is None:
            break
        after = f"&after={told['next']}"
    assert seen == ids[::-1]
    assert httpx.get(f"{live.url}/v1/jobs?collection=parts&state=failed").json() == {"jobs": [], "next": None}
    assert httpx.get(f"{live.url}/v1/jobs?state=perhaps").status_code == 422


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/retry")])
def test_an_unknown_job_is_not_found_by_any_of_its_addresses(live, method, path):
    response = httpx.request(method, f"{live.url}/v1/jobs/nope{path}")
    assert (response.status_code, response.json()["error"]["type"]) == (404, "UnknownJob")


def test_a_watcher_that_leaves_takes_its_thread_with_it(live):
    def watchers() -> int:
        return sum(thread.name == "quire-walk" for thread in threading.enumerate())

    before = watchers()
    with httpx.stream("GET", f"{live.url}/v1/jobs/events?collection=silent", timeout=60) as response:
        assert next(response.iter_lines()) == ": beat"
        assert watchers() > before
    end = time.monotonic() + 30
    while watchers() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert watchers() <= before
