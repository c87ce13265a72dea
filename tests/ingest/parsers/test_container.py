"""A container is refused by what its directory says, then by what its bytes are; nothing in it expands itself."""

import io
import zipfile

import pytest

from ingest.errors import DamagedFile, PasswordNeeded, TooLarge, UnsupportedType
from ingest.parsers.container import OLE, PARTS, TREE, check_container, refuse_ole
from ingest.types import Limits


def container(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return out.getvalue()


def check(data: bytes, limits: Limits | None = None, dtd: bool = False) -> None:
    check_container(data, limits or Limits(), "word/document.xml", ".docx", dtd)


def test_a_bomb_is_refused_by_its_directory_before_it_is_unpacked() -> None:
    bomb = container({"word/document.xml": b"<w:p/>" * (2 << 20)})
    assert len(bomb) < 1 << 16
    with pytest.raises(TooLarge, match=r"unpacks to 12,582,912 bytes of XML.*over 134,217,728 bytes of memory \(parse_memory\)"):
        check(bomb, Limits(parse_memory=128 << 20))
    with pytest.raises(TooLarge, match=r"12,582,912 bytes, over 1,048,576 \(unpacked_bytes\)"):
        check(bomb, Limits(unpacked_bytes=1 << 20))


def test_two_hundred_mebibytes_of_xml_are_over_the_limits_as_they_come() -> None:
    assert Limits().parse_memory < 200 * (1 << 20) * TREE


def test_a_directory_that_lies_about_a_size_does_not_help() -> None:
    honest = container({"word/document.xml": b"x" * 5_000_000})
    lying = honest.replace((5_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises(DamagedFile):
        check(lying, Limits(unpacked_bytes=100_000))


def test_too_many_parts_are_refused() -> None:
    parts = {"word/document.xml": b"<x/>", **{str(number): b"" for number in range(PARTS)}}
    with pytest.raises(TooLarge, match=r"20,001 parts, over 20,000"):
        check(container(parts, zipfile.ZIP_STORED))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_document_type_is_refused_in_office_files_whatever_its_encoding(encoding: str) -> None:
    evil = '<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'.encode(encoding)
    parts = {"word/document.xml": b"<x/>", "word/other.xml": b" " * ((1 << 20) - 5) + evil}
    with pytest.raises(DamagedFile, match="declares a document type"):
        check(container(parts))
    check(container(parts), dtd=True)
    check(container({"word/document.xml": b"<x/>", "word/media/picture.svg": evil}))


def test_methods_that_unpack_without_bound_are_refused() -> None:
    with pytest.raises(DamagedFile, match="packed by method 12"):
        check(container({"word/document.xml": b"<x/>"}, zipfile.ZIP_BZIP2))


def test_other_containers_are_told_apart() -> None:
    with pytest.raises(UnsupportedType, match=r"an Excel workbook: call it \.xlsx"):
        check(container({"xl/workbook.xml": b"<x/>"}))
    with pytest.raises(UnsupportedType, match=r"a zip of documents is called \.zip"):
        check(container({"a.txt": b"x"}))
    with pytest.raises(UnsupportedType, match=r"old kind \(\.doc\): save it as \.docx"):
        refuse_ole(OLE + b"\0" * 512, ".doc", ".docx")
    with pytest.raises(PasswordNeeded, match="encrypted"):
        refuse_ole(OLE + "EncryptedPackage".encode("utf-16-le"), ".doc", ".docx")
    refuse_ole(b"PK", ".doc", ".docx")


def test_an_encrypted_part_asks_for_a_password() -> None:
    data = bytearray(container({"word/document.xml": b"<x/>"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(PasswordNeeded):
        check(bytes(data))
