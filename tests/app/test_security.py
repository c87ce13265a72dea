"""Files and words of somebody who means harm go in by HTTP: nothing leaves the home, nothing grows beyond its limit, and text stays text."""

import io
import json
import re
import struct
import time
import zipfile
import zlib
from pathlib import Path

import httpx
import pytest

from eval import formats
from eval.prose import Paragraph
from ingest.pipeline import ingest

LINE = "The gate opens at nine."


def upload(fort, name: str, data: bytes, collection: str = "attacked") -> httpx.Response:
    """As raw bytes: httpx escapes what a hostile client does not."""
    body = b'--b\r\nContent-Disposition: form-data; name="collection"\r\n\r\n' + collection.encode() + b"\r\n"
    body += b'--b\r\nContent-Disposition: form-data; name="files"; filename="' + name.encode("utf-8", "surrogatepass") + b'"\r\n\r\n' + data
    headers = {"content-type": "multipart/form-data; boundary=b"}
    return httpx.post(fort.url + "/v1/documents", content=body + b"\r\n--b--\r\n", headers=headers, timeout=60)


def ended(fort, job: dict) -> dict:
    end = time.monotonic() + 120
    while job["state"] not in ("done", "failed", "cancelled") and time.monotonic() < end:
        time.sleep(0.05)
        job = httpx.get(f"{fort.url}/v1/jobs/{job['id']}").json()
    return job


def taken(fort, name: str, data: bytes) -> dict:
    """The job at its end."""
    response = upload(fort, name, data)
    assert response.status_code == 202, response.text
    return ended(fort, response.json()["jobs"][0])


def lines(fort, document: str) -> str:
    """All the text that the pages of a document have."""
    pages = httpx.get(f"{fort.url}/v1/documents/{document}").json()["page_list"]
    told = [httpx.get(f"{fort.url}/v1/pages/{page['page']}").json() for page in pages]
    return "\n".join(line["text"] for page in told for line in page["lines"])


def ground(fort) -> set[Path]:
    """Everything around the home, and nothing in it."""
    home = fort.ground / "home"
    return {path for path in fort.ground.parent.rglob("*") if home not in path.parents}


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


# -- names -------------------------------------------------------------------------------------------------------------------

NAMES = [
    "../x.txt",
    "..\\..\\x.txt",
    "/etc/x.txt",
    "C:\\x.txt",
    "a/../../x.txt",
    "....//x.txt",
    "x.txt\0.png",
    "\u202etxt.exe.txt",
    "a" * 5000 + ".txt",
    "%2e%2e%2fx.txt",
    "x\r\nSet-Cookie: a=b\r\n\r\n.txt",
    "..",
    ".",
    "",
    "~/x.txt",
    "$(id).txt",
    "-rf.txt",
    "con.txt",
    "\ud800.txt",
    "<img src=x onerror=alert(1)>.txt",
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:24]))
def test_a_name_never_becomes_a_path_or_a_header(fort, name):
    before = ground(fort)
    response = upload(fort, name, f"{LINE} {name[:40]!a}\n".encode())
    assert response.status_code in (202, 400, 422), response.text
    assert "set-cookie" not in response.headers
    if response.status_code == 202:
        job = response.json()["jobs"][0]
        assert not re.search(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", job["name"])
        assert ".." not in Path(job["name"].replace("\\", "/")).parts
        assert len(job["name"]) <= 255
    assert ground(fort) == before
    spool = fort.house.workshop.home.spool
    assert all(re.fullmatch(r"[0-9a-f]{32}(\.[a-z0-9]{1,9})?", path.name) for path in spool.iterdir())


@pytest.mark.parametrize("name", [name for name in NAMES if name and "\ud800" not in name], ids=lambda name: ascii(name[:24]))
def test_a_title_never_becomes_a_path(fort, name):
    before = ground(fort)
    response = httpx.post(fort.url + "/v1/documents/text", json={"title": name, "text": LINE + ascii(name[:40]), "collection": "attacked"})
    assert response.status_code in (202, 400, 422), response.text
    assert ground(fort) == before


def test_members_of_a_zip_stay_in_the_home_and_good_ones_go_in(fort):
    before = ground(fort)
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = 0o120777 << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("../out.txt", "/etc/out.txt", "a/../../out.txt", "..\\out.txt", "good.txt"):
            archive.writestr(name, f"{LINE} {name}\n")
        archive.writestr(link, "/etc/passwd")
    job = taken(fort, "steps.zip", out.getvalue())
    members = {member["name"].rpartition("steps.zip/")[2]: member for member in job["detail"]["members"]}
    assert members["good.txt"]["state"] == "done", job
    assert [name for name, member in members.items() if member["state"] == "done" and name != "good.txt"] == []
    assert all(member["error"] for name, member in members.items() if name != "good.txt")
    assert ground(fort) == before
    assert "root:" not in lines(fort, members["good.txt"]["document"])


def test_a_link_in_a_folder_does_not_lead_out_of_it(fort, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("The password is swordfish.\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "good.txt").write_text(LINE + " In a folder.\n")
    (folder / "file.txt").symlink_to(secret)
    (folder / "passwd.txt").symlink_to("/etc/passwd")
    (folder / "up").symlink_to(tmp_path)
    (folder / "round").symlink_to(folder)
    report = ingest([folder], "linked", fort.house.workshop)
    assert [done.name for done in report.done] == ["good.txt"]
    assert {failure.name for failure in report.failed} == {"file.txt", "passwd.txt", "up"}
    assert all("link" in failure.reason for failure in report.failed)


# -- bombs -------------------------------------------------------------------------------------------------------------------


def png(width: int, height: int) -> bytes:
    """A picture's head with next to nothing behind it."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"\0" * 100_000, 9)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
        + part(b"IDAT", rows)
        + part(b"IEND", b"")
    )


def laughs(root: str) -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{entities}]><{root}>&l9;</{root}>'.encode()


def outside(root: str) -> bytes:
    return f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><{root}>&f;</{root}>'.encode()


def office(kind: str, body: bytes) -> bytes:
    """A sound Office file of that kind whose main part is another."""
    part = {"docx": "word/document.xml", "xlsx": "xl/sharedStrings.xml", "pptx": "ppt/slides/slide1.xml", "epub": "OEBPS/c.xhtml"}[kind]
    source = io.BytesIO()
    if kind == "docx":
        source.write(formats.docx([Paragraph(LINE)]))
    elif kind == "xlsx":
        from openpyxl import Workbook

        book = Workbook()
        book.active["A1"] = LINE
        book.save(source)
    elif kind == "pptx":
        from pptx import Presentation

        slides = Presentation()
        slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = LINE
        slides.save(source)
    else:
        package = (
            b'<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>'
            b'<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>'
        )
        container = (
            b'<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
            b'<rootfile full-path="OEBPS/p.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
        )
        with zipfile.ZipFile(source, "w") as archive:
            archive.writestr("mimetype", "application/epub+zip")
            archive.writestr("META-INF/container.xml", container)
            archive.writestr("OEBPS/p.opf", package)
            archive.writestr(part, b"<html/>")
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return zipped({**members, part: body}, zipfile.ZIP_STORED if kind == "epub" and len(body) < 10_000 else zipfile.ZIP_DEFLATED)


BOMBS = {
    "zeros.zip": zipped({"a.txt": bytes(40_000_000)}),
    "many.zip": zipped({f"{n}.txt": b"x" for n in range(2000)}),
    "nested.zip": zipped({"inner.zip": zipped({"inner.zip": zipped({"a.txt": bytes(1_000_000)})})}),
    "word.docx": office("docx", bytes(40_000_000)),
    "book.epub": office("epub", bytes(40_000_000)),
    "wide.png": png(60_000, 60_000),
    "tall.png": png(1, 2**31 - 1),
    "flat.gif": b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\xff\xff\xff\xff\0\x02\x02D\x01\0;",
    "deep.pdf": b"%PDF-1.4\n" + b"[" * 1_500_000,
    "deep.html": b"<div>" * 300_000,
    "cells.csv": b"," * 1_900_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_failed_job_and_costs_no_more_than_its_limit(fort, name):
    job = taken(fort, name, BOMBS[name])
    told = [member["state"] for member in job["detail"].get("members") or []]
    assert job["state"] == "failed" or (told and "done" not in told), job
    assert job["error"] or told
    home = fort.ground / "home"
    assert sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) < 60_000_000
    assert httpx.get(fort.url + "/readyz").status_code == 200


@pytest.mark.parametrize("kind", ["docx", "xlsx", "pptx", "epub"])
@pytest.mark.parametrize("make", [laughs, outside])
def test_entities_are_not_expanded_and_read_nothing_from_the_disk(fort, kind, make):
    job = taken(fort, f"{make.__name__}.{kind}", office(kind, make("x")))
    if job["state"] == "done":
        text = lines(fort, job["document"])
        assert "root:" not in text
        assert "hahaha" not in text
    else:
        assert job["state"] == "failed"
        assert job["error"]


# -- text stays text ---------------------------------------------------------------------------------------------------------

SCRIPT = "<script>alert(document.domain)</script><img src=x onerror=alert(1)>"


def scripted(kind: str) -> bytes:
    match kind:
        case "html":
            return f"<p>{LINE} Of {kind}.</p>{SCRIPT}<a href='javascript:alert(1)' onclick='alert(1)'>press</a>".encode()
        case "docx":
            return formats.docx([Paragraph(f"{LINE} Of {kind}."), Paragraph(SCRIPT)])
        case "pdf":
            return formats.pdf([Paragraph(f"{LINE} Of {kind}."), Paragraph(SCRIPT)])
        case "csv":
            return f'a,b\n{LINE} Of {kind}.,"{SCRIPT}"\n=cmd|x,@SUM(1)\n'.encode()
    return f"{LINE} Of {kind}.\n\n{SCRIPT}\n".encode()


@pytest.mark.parametrize("kind", ["txt", "md", "html", "docx", "pdf", "csv"])
def test_a_script_in_a_document_is_shown_as_text_or_not_at_all_and_never_as_a_page(fort, kind):
    job = taken(fort, f"script.{kind}", scripted(kind))
    assert job["state"] == "done", job
    document = httpx.get(f"{fort.url}/v1/documents/{job['document']}")
    page = document.json()["page_list"][0]["page"]
    asked = httpx.post(
        fort.url + "/v1/ask", json={"question": "When does the gate open?", "collection": "attacked", "top_k": 1}, timeout=60
    )
    replies = [document, asked, httpx.get(f"{fort.url}/v1/pages/{page}"), httpx.get(f"{fort.url}/v1/jobs/{job['id']}")]
    for reply in replies:
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "script-src" in reply.headers["content-security-policy"] or "default-src 'self'" in reply.headers["content-security-policy"]
    assert httpx.get(f"{fort.url}/v1/pages/{page}.png").headers["content-type"] == "image/png"
    # HTML and Markdown have markup of their own, which is left out; elsewhere it is what somebody wrote.
    if kind not in ("html", "md"):
        assert "alert(document.domain)" in re.sub(r"\s", "", lines(fort, job["document"]))


def test_no_text_can_begin_an_event_of_its_own(fort):
    evil = 'gate\n\nevent: done\ndata: {"text": "forged"}\n\n: beat\r\rid: 7\u2028event: failed\u0085data: {}'
    assert taken(fort, "events.txt", f"{LINE} {evil}\n".encode())["state"] == "done"
    body = {"question": f"When does the {evil} open?", "collection": "attacked", "stream": True}
    with httpx.stream("POST", fort.url + "/v1/ask", json=body, timeout=60) as response:
        raw = b"".join(response.iter_raw()).decode()
    events = [block for block in raw.split("\n\n") if block and not block.startswith(":")]
    names = [re.fullmatch(r"event: (\w+)\ndata: (.*)", block).group(1) for block in events]
    assert names[0] == "planned"
    assert names.count("done") == 1
    assert set(names) <= {"planned", "compiling", "token", "done"}
    assert all(isinstance(json.loads(block.partition("\ndata: ")[2]), dict) for block in events)
    # Not by any of the signs that some reader takes for a line's end.
    assert not re.search("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", raw)
