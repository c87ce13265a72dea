"""Bytes of every encoding come out as the text that was meant, and no bytes crash."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.encoding import clean, decode

SENTENCE = "Le château fut bâti près de la forêt; où l'été est déjà passé, l'âme rêve à Noël."


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_no_part_of_the_text(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + SENTENCE.encode(encoding))
    assert decoded.text == SENTENCE
    assert decoded.encoding == encoding


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_its_mark_is_seen_by_its_nuls(encoding: str) -> None:
    assert decode(SENTENCE.encode(encoding)).text == SENTENCE


def test_utf8_needs_no_note() -> None:
    assert decode(SENTENCE.encode()).notes == ()


@pytest.mark.parametrize(
    "text",
    [SENTENCE, "caf\u00e9", "## k\u00f6nnen\n\nk\u00f6nnen\n\n\u00e4\u00f6\u00fc\u00df\n", "\u201cCurly\u201d quotes \u2013 and dashes"],
)
def test_western_text_in_cp1252_is_read_and_noted(text: str) -> None:
    decoded = decode(text.encode("cp1252"))
    assert decoded.text == text
    assert decoded.notes == ("read as cp1252, not UTF-8",)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("彼は静かな村で生まれ、父の仕事を継いで大工になった。\n毎朝早く起きて、山へ木を切りに行く。" * 4, "cp932"),
        ("Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему. " * 4, "cp1251"),
    ],
)
def test_other_scripts_are_told_apart_by_the_whole_file(text: str, encoding: str) -> None:
    # The head alone is ASCII and would fit every encoding.
    head = "plain words in front\n" * 400
    assert decode((head + text).encode(encoding)).text == head + text


def test_a_label_is_obeyed_where_the_bytes_allow_it() -> None:
    assert decode("Łódź".encode("iso-8859-2"), "iso-8859-2").text == "Łódź"
    assert decode("日本".encode("iso-2022-jp"), "iso-2022-jp").text == "日本"
    # A page that says Latin-1 means what browsers take it for.
    assert decode("10 €".encode("cp1252"), "ISO-8859-1").text == "10 €"


@pytest.mark.parametrize("label", ["utf-7", "utf-16", "rot13", "unicode_escape", "hex", "no-such-code", "\0"])
def test_a_label_that_is_wrong_or_tricky_is_passed_over(label: str) -> None:
    assert decode("größer".encode(), label).text == "größer"
    assert decode(b"plain \\u0041 +AEE-", label).text == "plain \\u0041 +AEE-"


def test_valid_utf8_is_utf8_whatever_the_label_says() -> None:
    assert decode("größer".encode(), "iso-8859-1").text == "größer"


def test_nuls_and_controls_go_and_line_ends_are_one_kind() -> None:
    decoded = decode(b"a\0b\r\nc\rd\x0be\x07\tf\x0cg")
    assert decoded.text == "ab\nc\nd\ne\tf\x0cg"
    assert decoded.notes == ("1 NUL characters removed",)


@given(st.binary(max_size=300), st.sampled_from(["", "utf-8", "latin-1", "cp932", "big5", "iso-2022-kr", "utf-7"]))
def test_no_bytes_crash_and_every_text_can_be_written_out(data: bytes, label: str) -> None:
    text = decode(data, label).text
    text.encode("utf-8")
    assert clean(text) == text


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp"])
def test_two_short_japanese_lines_are_told_by_their_kana(encoding: str) -> None:
    text = "お客様各位\n平素は格別のご高配を賜り、厚く御礼申し上げます。\n"
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("이름,도시\n김철수,서울\n이영희,부산\n", "cp949"), ("姓名,城市\n王小明,臺北市\n", "big5"), ("姓名,城市\n王小明,北京市\n", "gb18030")],
)
def test_short_chinese_and_korean_lines_are_not_taken_for_japanese(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text
