"""Files in by HTTP, jobs and documents out, of a running server."""

import itertools
import json
import time

import httpx
import pytest

TEXT = "Gray farm:\n  its fuel is coal\n  region: Clifai\n"


def upload(live, *files, **fields) -> httpx.Response:
    return httpx.post(
        live.url + "/v1/documents", files=[("files", file) for file in files], data={"collection": "uploads", **fields}, timeout=60
    )


def finished(live, job: str) -> dict:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        row = httpx.get(f"{live.url}/v1/jobs/{job}").json()
        if row["state"] in ("done", "failed", "cancelled"):
            return row
        time.sleep(0.02)
    raise AssertionError("the job did not end in a minute")


def error(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["type"]


def test_a_file_becomes_a_document_that_can_be_asked_and_goes_without_a_trace(live):
    response = upload(live, ("farm.txt", TEXT), collection="round")
    assert response.status_code == 202
    [job] = response.json()["jobs"]
    assert (job["name"], job["collection"]) == ("farm.txt", "round")
    done = finished(live, job["id"])
    assert done["state"] == "done"
    told = httpx.get(f"{live.url}/v1/documents/{done['document']}").json()
    assert (told["name"], told["collection"], told["bytes"]) == ("farm.txt", "round", len(TEXT))
    assert told["pages"] == len({page["page"] for page in told["page_list"]}) > 0
    answer = httpx.post(live.url + "/v1/ask", json={"question": "Tell me the fuel of Gray farm.", "collection": "round"}, timeout=60).json()
    assert answer["citations"][0]["document"] == done["document"]
    receipt = httpx.delete(f"{live.url}/v1/documents/{done['document']}").json()
    assert receipt["removed_pages"] == sorted({page["page"] for page in told["page_list"]})
    assert receipt["bytes"] > 0
    assert len(receipt["removed_files"]) == 4 * len(receipt["removed_pages"])
    assert error(httpx.get(f"{live.url}/v1/documents/{done['document']}")) == (404, "UnknownDocument")
    assert error(httpx.delete(f"{live.url}/v1/documents/{done['document']}")) == (404, "UnknownDocument")
    assert error(httpx.get(f"{live.url}/v1/pages/{receipt['removed_pages'][0]}.png")) == (404, "UnknownPage")


def test_a_job_tells_its_way_until_it_ends(live):
    [job] = upload(live, ("way.txt", TEXT + "Way house:\n  its gate is 41\n")).json()["jobs"]
    with httpx.stream("GET", f"{live.url}/v1/jobs/{job['id']}/events", timeout=60) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = list(response.iter_lines())
    assert {line for line in lines if line.startswith("event:")} == {"event: job"}
    told = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data:")]
    assert {row["id"] for row in told} == {job["id"]}
    assert [row["state"] for row in told[:-1]].count("done") == 0
    assert told[-1]["state"] == "done"
    assert all(earlier != later for earlier, later in itertools.pairwise(told))


def test_a_refused_file_is_a_failed_job_and_the_others_go_on(live):
    response = upload(live, ("../../evil.txt", TEXT), ("good.txt", TEXT + "Good inn:\n  its phone is 11\n"))
    assert response.status_code == 202
    bad, good = response.json()["jobs"]
    assert (bad["state"], bad["detail"]["type"]) == ("failed", "BadName")
    assert "steps out of its folder" in bad["error"]
    assert finished(live, good["id"])["state"] == "done"


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/passwd", "a\x01b.txt", "..\\..\\evil.txt"])
def test_a_single_bad_name_is_the_error_itself(live, name):
    # httpx escapes control characters in a name; a hostile client does not.
    body = b'--b\r\nContent-Disposition: form-data; name="files"; filename="' + name.encode() + b'"\r\n\r\nx\r\n--b--\r\n'
    response = httpx.post(live.url + "/v1/documents", content=body, headers={"content-type": "multipart/form-data; boundary=b"})
    assert error(response) == (400, "BadName")


def test_a_file_that_cannot_be_read_fails_with_its_reason_and_can_be_tried_again(live):
    [job] = upload(live, ("blank.txt", "  \n \n")).json()["jobs"]
    row = finished(live, job["id"])
    assert (row["state"], row["detail"]["type"]) == ("failed", "NoText")
    assert "blank.txt" in row["error"]
    assert httpx.post(f"{live.url}/v1/jobs/{job['id']}/retry").json()["id"] == job["id"]
    assert finished(live, job["id"])["state"] == "failed"
    assert httpx.post(f"{live.url}/v1/jobs/{job['id']}/cancel").json()["state"] == "cancelled"
    assert httpx.post(f"{live.url}/v1/jobs/{job['id']}/retry").json()["state"] == "cancelled"


def test_the_same_name_with_other_words_needs_leave_to_replace(live):
    first = finished(live, upload(live, ("same.txt", TEXT + "One inn:\n  its phone is 1\n")).json()["jobs"][0]["id"])
    again = finished(live, upload(live, ("same.txt", TEXT + "One inn:\n  its phone is 1\n")).json()["jobs"][0]["id"])
    assert again["document"] == first["document"]
    assert again["detail"]["skipped"] is True
    other = finished(live, upload(live, ("same.txt", TEXT + "Two inn:\n  its phone is 2\n"), replace="true").json()["jobs"][0]["id"])
    assert other["state"] == "done"
    assert other["document"] != first["document"]


def test_jobs_are_listed_newest_first_and_by_collection(live):
    ids = [
        upload(live, (f"list-{i}.txt", TEXT + f"List inn:\n  its phone is {i}\n"), collection="listed").json()["jobs"][0]["id"]
        for i in range(2)
    ]
    assert [job["id"] for job in httpx.get(live.url + "/v1/jobs?collection=listed").json()["jobs"]] == ids[::-1]
    assert {job["collection"] for job in httpx.get(live.url + "/v1/jobs").json()["jobs"]} >= {"listed"}
    assert httpx.get(live.url + "/v1/jobs?collection=none").json() == {"jobs": [], "next": None}
    for job in ids:
        finished(live, job)


def test_an_unknown_job_is_not_found_by_any_of_its_addresses(live):
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/retry")):
        assert error(httpx.request(method, f"{live.url}/v1/jobs/nope{path}")) == (404, "UnknownJob")


def test_collections_and_documents_are_listed_with_their_numbers(live, records):
    rows = {row["name"]: row for row in httpx.get(live.url + "/v1/collections").json()["collections"]}
    documents = httpx.get(live.url + "/v1/documents").json()["documents"]
    assert [row["name"] for row in documents] == sorted(path.name for path in records)
    assert rows["default"]["documents"] == len(records)
    assert rows["default"]["pages"] == sum(row["pages"] for row in documents)
    assert rows["default"]["model"] == live.house.backbone.name
    assert error(httpx.get(live.url + "/v1/documents?collection=none")) == (404, "UnknownCollection")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"data": {"collection": "uploads"}}, "BadRequest", 422),
        ({"json": {"files": []}}, "BadRequest", 422),
        ({"files": [("files", ("a.txt", "x"))], "data": {"collection": "../x"}}, "BadRequest", 422),
        ({"files": [("files", ("a.txt", "x"))], "data": {"collection": "uploads", "replace": "perhaps"}}, "BadRequest", 422),
        ({"files": [("files", ("a.txt", "x")), ("collection", ("c", "x"))]}, "BadRequest", 422),
        ({"content": b"junk", "headers": {"content-type": "multipart/form-data; boundary=b"}}, "BadRequest", 422),
        ({"content": b"junk", "headers": {"content-type": "multipart/form-data"}}, "BadRequest", 422),
        ({"files": [("files", (f"{i}.txt", "x")) for i in range(101)]}, "TooManyFiles", 413),
    ],
)
def test_a_form_that_is_not_one_is_refused_with_the_reason(live, body, kind, status):
    assert error(httpx.post(live.url + "/v1/documents", timeout=60, **body)) == (status, kind)


def test_nothing_of_a_file_over_its_limit_is_kept(live, monkeypatch):
    from dataclasses import replace

    monkeypatch.setattr(live.house.workshop, "limits", replace(live.house.workshop.limits, file_bytes=10))
    assert error(upload(live, ("big.txt", "x" * 11))) == (413, "TooLarge")
    assert not [path for path in live.house.workshop.home.spool.iterdir() if path.stat().st_size in (10, 11)]
