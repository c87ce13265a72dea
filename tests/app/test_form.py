"""A form is read as it arrives: the same whatever the pieces, nothing over a limit on the disk, nothing half taken for whole."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequest, TooManyFiles
from app.form import Form
from ingest.errors import TooLarge

BODY = (
    b'--b\r\nContent-Disposition: form-data; name="collection"\r\n\r\nnotes\r\n'
    b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\none\r\n--c is no end\r\n'
    b'--b\r\nContent-Disposition: form-data; name="files"; filename="gr\xc3\xb6\xc3\x9fe.txt"\r\n\r\n\r\n'
    b"--b--\r\n"
)


def part(name: str, data: bytes, filename: str = "") -> bytes:
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"' + (f'; filename="{filename}"' if filename else "")
    return head.encode() + b"\r\n\r\n" + data + b"\r\n"


def read(folder, *blocks: bytes, files: int = 5, file_bytes: int = 100) -> Form:
    form = Form(b"b", folder, files, file_bytes)
    for block in blocks:
        form.feed(block)
    form.finish()
    return form


@given(cuts=st.lists(st.integers(0, len(BODY)), max_size=8))
def test_a_form_is_the_same_however_it_is_cut_on_its_way(cuts, tmp_path_factory):
    places = [0, *sorted(cuts), len(BODY)]
    form = read(tmp_path_factory.getbasetemp(), *(BODY[start:end] for start, end in itertools.pairwise(places)))
    assert form.words == {"collection": "notes"}
    assert [(name, file.read()) for name, file in form.files] == [("a.txt", b"one\r\n--c is no end"), ("größe.txt", b"")]
    form.close()


def test_a_file_over_its_limit_is_let_go_of_at_once_and_the_others_are_whole(tmp_path):
    form = Form(b"b", tmp_path, 5, 10)
    form.feed(part("files", b"small", "small.txt") + b'--b\r\nContent-Disposition: form-data; name="files"; filename="big.txt"\r\n\r\n')
    for _ in range(100):
        form.feed(b"x" * 10_000)
    form.feed(b"\r\n" + part("files", b"last", "last.txt") + b"--b--\r\n")
    form.finish()
    (_, small), (_, big), (_, last) = form.files
    assert (small.read(), last.read()) == (b"small", b"last")
    with pytest.raises(TooLarge, match=r"big\.txt: more than 10 bytes"):
        big.read(1)
    assert not hasattr(big, "write")
    form.close()


def test_large_files_wait_in_the_given_folder_and_leave_nothing_there(tmp_path):
    form = read(tmp_path, part("files", b"x" * 3_000_000, "a.bin"), b"--b--\r\n", file_bytes=10**7)
    assert len(form.files[0][1].read()) == 3_000_000
    form.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "body",
    [
        part("files", b"x", "a.txt"),  # cut off
        part("files", b"x", "a.txt") + b"--b",
        b"--b--\r\n",  # no files
        part("collection", b"notes") + b"--b--\r\n",
        part("files", b"no file name") + b"--b--\r\n",
        part("colection", b"notes") + part("files", b"x", "a.txt") + b"--b--\r\n",
        part("collection", b"notes") * 2 + part("files", b"x", "a.txt") + b"--b--\r\n",
        part("collection", b"notes", "a.txt") + b"--b--\r\n",
        part("collection", b"n" * 2000) + part("files", b"x", "a.txt") + b"--b--\r\n",
        b"junk",
        b"--b\r\n" + b"x" * 10_000,
    ],
)
def test_a_form_that_is_not_whole_or_not_ours_is_refused(body, tmp_path):
    with pytest.raises(BadRequest):
        read(tmp_path, body)


def test_one_file_too_many_is_refused_before_its_bytes_come(tmp_path):
    with pytest.raises(TooManyFiles, match="more than 2 files"):
        read(
            tmp_path,
            part("files", b"x", "a.txt") * 2 + b'--b\r\nContent-Disposition: form-data; name="files"; filename="c"\r\n\r\n',
            files=2,
        )


@pytest.mark.parametrize(
    ("spelt", "name"),
    [
        (b"UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
        (b"utf-8'en'plain.txt", "plain.txt"),
        (b"ISO-8859-1''gr%f6%dfe.txt", "größe.txt"),
    ],
)
def test_a_file_whose_name_is_spelt_as_in_rfc_5987_alone_is_a_file(spelt, name, tmp_path):
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename*=' + spelt
    form = read(tmp_path, head + b"\r\n\r\nx\r\n--b--\r\n")
    assert [given for given, _ in form.files] == [name]
    form.close()


def test_a_plain_name_counts_before_one_in_rfc_5987(tmp_path):
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"; filename*=UTF-8\'\'b.txt'
    form = read(tmp_path, head + b"\r\n\r\nx\r\n--b--\r\n")
    assert [given for given, _ in form.files] == ["a.txt"]
    form.close()
