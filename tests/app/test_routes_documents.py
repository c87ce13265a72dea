"""Files in by HTTP, jobs and documents out, of a running server."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

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
    of_pages = [name for name in receipt["removed_files"] if not name.startswith("index/")]
    assert len(of_pages) == 4 * len(receipt["removed_pages"])
    assert error(httpx.get(f"{live.url}/v1/documents/{done['document']}")) == (404, "UnknownDocument")
    assert error(httpx.delete(f"{live.url}/v1/documents/{done['document']}")) == (404, "UnknownDocument")
    assert error(httpx.get(f"{live.url}/v1/pages/{receipt['removed_pages'][0]}.png")) == (404, "UnknownPage")


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


# -- texts, batches, requests that come twice ------------------------------------------------------------------------------


def text(live, headers: dict | None = None, **body) -> httpx.Response:
    sent = {"title": "Opening hours", "text": TEXT, "collection": "texts", **body}
    return httpx.post(live.url + "/v1/documents/text", json=sent, headers=headers, timeout=60)


def test_a_text_becomes_a_document_named_by_its_title(live):
    job = text(live).json()
    assert job["name"] == "Opening hours.txt"
    done = finished(live, job["id"])
    assert done["state"] == "done"
    assert httpx.get(f"{live.url}/v1/documents/{done['document']}").json()["media"] == "text/plain"
    marked = text(live, title="Notes.md", text="# Gates\n\nThe gate is 41.", media="text/markdown").json()
    assert marked["name"] == "Notes.md"
    assert finished(live, marked["id"])["state"] == "done"


@pytest.mark.parametrize("title", ["a\r\nX-Evil: 1", "../up", "/root", "a\u202etxt.exe", "a\u2028b"])
def test_a_title_that_could_be_a_header_or_a_path_is_refused(live, title):
    response = text(live, title=title)
    assert error(response) == (400, "BadName")
    assert "x-evil" not in response.headers


@pytest.mark.parametrize(
    "body",
    [
        {"title": ""},
        {"text": ""},
        {"media": "text/html"},
        {"collection": "A b"},
        {"title": "x" * 251},
        {"file": "x"},
        {"replace": "perhaps"},
    ],
)
def test_a_text_that_is_not_one_is_refused_by_field(live, body):
    response = text(live, **body)
    assert error(response) == (422, "BadRequest")
    assert list(response.json()["error"]["detail"]["fields"]) == list(body)


def test_half_a_surrogate_pair_is_refused_and_not_stumbled_over(live):
    for field in ("title", "text", "collection"):
        raw = f'{{"title": "a", "text": "b", "{field}": "x\\ud800"}}'
        response = httpx.post(live.url + "/v1/documents/text", content=raw, headers={"content-type": "application/json"})
        assert error(response) == (422, "BadRequest")
    assert error(
        httpx.post(live.url + "/v1/documents/delete", content='{"ids": ["\\ud800"]}', headers={"content-type": "application/json"})
    ) == (
        422,
        "BadRequest",
    )


def test_a_request_that_comes_twice_makes_its_jobs_once(live):
    files = [("a.txt", TEXT + "Twice inn:\n  its gate is 7\n"), ("../evil.txt", TEXT), ("b.txt", TEXT + "Twice hall:\n  its gate is 8\n")]

    def send(files, key="one-upload") -> httpx.Response:
        return httpx.post(
            live.url + "/v1/documents",
            files=[("files", file) for file in files],
            data={"collection": "twice"},
            headers={"idempotency-key": key},
            timeout=60,
        )

    first, second = send(files), send(files)
    assert (first.status_code, second.status_code) == (202, 200)
    assert "idempotent-replay" not in first.headers
    assert second.headers["idempotent-replay"] == "true"
    ids = [job["id"] for job in first.json()["jobs"]]
    assert [job["id"] for job in second.json()["jobs"]] == ids
    assert len(httpx.get(live.url + "/v1/jobs?collection=twice").json()["jobs"]) == 3
    assert error(send(files[:1])) == (409, "KeyReused")
    assert error(send([("other.txt", files[0][1]), *files[1:]])) == (409, "KeyReused")
    other = send(files, "another-upload")
    assert other.status_code == 202
    assert not {job["id"] for job in other.json()["jobs"]} & set(ids)
    for job in ids:
        finished(live, job)
    # The document is in: the same key still gives the job of then.
    assert [job["state"] for job in send(files).json()["jobs"]] == ["done", "failed", "done"]


def test_a_text_that_comes_twice_is_one_job(live):
    key = {"idempotency-key": "one-text"}
    first, second = text(live, key, title="Once"), text(live, key, title="Once")
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json()["id"] == second.json()["id"]
    assert error(text(live, key, title="Else")) == (409, "KeyReused")


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
def test_a_key_that_is_none_is_refused(live, key):
    assert error(text(live, {"idempotency-key": key})) == (422, "BadRequest")


def test_requests_at_the_same_time_with_one_key_make_one_job(live):
    answers: list[httpx.Response] = []
    key = {"idempotency-key": "all-at-once"}
    threads = [threading.Thread(target=lambda: answers.append(text(live, key, title="At once", collection="atonce"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [202]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(httpx.get(live.url + "/v1/jobs?collection=atonce").json()["jobs"]) == 1


def test_a_batch_goes_as_far_as_it_can_and_says_of_each_what_became_of_it(live):
    ids = [finished(live, text(live, title=f"Batch {number}", text=TEXT + str(number)).json()["id"])["document"] for number in range(2)]
    told = httpx.post(live.url + "/v1/documents/delete", json={"ids": [ids[0], "nope", ids[1], ids[0]]}, timeout=60).json()
    assert [receipt["document"] for receipt in told["receipts"]] == ids
    assert [(failed["id"], failed["error"]["type"]) for failed in told["failed"]] == [("nope", "UnknownDocument")]
    for ids in ([], ["x"] * 101, "x", [1]):
        assert error(httpx.post(live.url + "/v1/documents/delete", json={"ids": ids})) == (422, "BadRequest")


def test_documents_come_in_parts_by_name_and_by_a_piece_of_it(live):
    for number in range(3):
        finished(live, text(live, title=f"Größe {number}", text=TEXT + f"Part {number}", collection="parted").json()["id"])
    names, after = [], ""
    while True:
        told = httpx.get(f"{live.url}/v1/documents?collection=parted&limit=2{after}").json()
        names += [row["name"] for row in told["documents"]]
        if told["next"] is None:
            break
        after = f"&after={told['next']}"
    assert names == [f"Größe {number}.txt" for number in range(3)]
    found = httpx.get(live.url + "/v1/documents", params={"collection": "parted", "name": "GRÖSSE 1"}).json()["documents"]
    assert [row["name"] for row in found] == ["Größe 1.txt"]
    assert httpx.get(live.url + "/v1/documents", params={"collection": "parted", "name": "%"}).json()["documents"] == []


def test_a_fault_of_ours_among_several_deletions_does_not_lose_the_receipts_of_what_is_gone(live, monkeypatch):
    import ingest.remove

    real = ingest.remove.remove_document
    rows = upload(live, *((f"gone-{n}.txt", TEXT + f"Gone inn:\n  its phone is {n}\n") for n in range(2)), collection="gone").json()["jobs"]
    ids = [finished(live, row["id"])["document"] for row in rows]

    def breaks(workshop, document):
        if document == ids[1]:
            raise ZeroDivisionError("a secret of the house")
        return real(workshop, document)

    monkeypatch.setattr(ingest.remove, "remove_document", breaks)
    told = httpx.post(live.url + "/v1/documents/delete", json={"ids": ids}, timeout=60).json()
    assert [receipt["document"] for receipt in told["receipts"]] == ids[:1]
    [failed] = told["failed"]
    assert (failed["id"], failed["error"]["type"]) == (ids[1], "InternalError")
    assert "secret" not in failed["error"]["message"]


def test_a_document_s_pages_are_looked_up_at_once(live, monkeypatch):
    def one_by_one(self, key):
        raise AssertionError("a query a page")

    document = live.house.catalogue.documents("default")[0].id
    monkeypatch.setattr(type(live.house.catalogue), "page", one_by_one)
    told = httpx.get(f"{live.url}/v1/documents/{document}").json()
    assert len({page["page"] for page in told["page_list"]}) == told["pages"] > 0


def test_deletions_that_wait_keep_nobody_from_reading(live):
    """More of them than the framework has threads."""
    job = upload(live, ("waits.txt", TEXT + "Waits inn:\n  its phone is 5\n"), collection="waits").json()["jobs"][0]["id"]
    address = f"{live.url}/v1/documents/{finished(live, job)['document']}"
    with ThreadPoolExecutor(50) as pool, httpx.Client(timeout=60, limits=httpx.Limits(max_connections=60)) as client:
        with live.house.workshop.home.writing():
            waiting = [pool.submit(client.delete, address) for _ in range(50)]
            time.sleep(1)
            for path in ("/readyz", "/metrics", "/v1/collections"):
                assert httpx.get(live.url + path, timeout=20).status_code == 200
            assert not any(one.done() for one in waiting)
        assert sorted(one.result().status_code for one in waiting) == [200] + [404] * 49
