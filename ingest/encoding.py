"""Bytes of unknown encoding go in; clean text, the encoding's name and notes for the report come out."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

# UTF-32 before UTF-16: the UTF-32 LE mark begins with the UTF-16 LE mark.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# What a web page's label means to a browser (WHATWG Encoding, section 4.2), where Python's codec of that name is narrower.
_LABELS = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "iso-8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "big5": "big5hkscs",
}

# Codecs that are no text encodings, or that a label must not choose: a label that can be read as ASCII cannot mean UTF-16.
_REFUSED = re.compile(r"utf[-_]?(7|16|32)|idna|punycode|escape|undefined|mbcs|oem")

# What English, French, German, Spanish, Italian and the Nordic languages use beyond ASCII, as bytes of cp1252.
_ACCENTS = frozenset("ÀÂÄÇÉÈÊËÎÏÔÖÙÛÜßàâäçéèêëîïíìóòôöúùûüñÑáÁåÅæÆøØœ¿¡«»“”„‘’–—…€£°§©®·".encode("cp1252"))
# Mainframe encodings, in which hardly a file comes; short Latin text passes for them.
_EBCDIC = ["cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140"]

_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc]")
_BREAKS = re.compile("\r\n|[\r\x0b\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x01-\x08\x0e-\x1f\x7f-\x9f\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Decoded:
    """Text with "\\n" line ends and no control characters but tab and form feed; `notes` says what was not plain UTF-8."""

    text: str
    encoding: str
    notes: tuple[str, ...] = ()


def decode(data: bytes, declared: str = "") -> Decoded:
    """The text of `data`. `declared` is the label the file itself carries (an HTML meta tag), obeyed where the bytes allow it."""
    text, encoding, lost = _decode(data, declared)
    notes = []
    if encoding != "utf-8":
        notes.append(f"read as {encoding}, not UTF-8")
    if lost:
        notes.append(f"{lost:,} characters could not be decoded and show as \ufffd")
    nuls = text.count("\0")
    if nuls:
        notes.append(f"{nuls:,} NUL characters removed")
    return Decoded(clean(text), encoding, tuple(notes))


def clean(text: str) -> str:
    """One kind of line end, no NULs, no control characters, no lone surrogates: what every parser's text must be."""
    text = _BREAKS.sub("\n", text.replace("\0", ""))
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def _decode(data: bytes, declared: str) -> tuple[str, str, int]:
    """(text, encoding, how many characters were lost)."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _replacing(data[len(mark) :], encoding)
    wide = _unmarked_utf16(data)
    if wide:
        return _replacing(data, wide)
    ascii_only = data.isascii()
    label = _codec(declared)
    # Bytes that are valid UTF-8 beyond ASCII are UTF-8, whatever the label says: no other encoding falls into that pattern by chance.
    if not (ascii_only and label):
        try:
            return data.decode("utf-8"), "utf-8", 0
        except UnicodeDecodeError:
            pass
    if label:
        try:
            text = data.decode(label)
        except UnicodeDecodeError:
            pass
        else:
            return text, "utf-8" if ascii_only and text == data.decode("ascii") else label, 0
    return _replacing(data, _guess(data))


def _replacing(data: bytes, encoding: str) -> tuple[str, str, int]:
    try:
        return data.decode(encoding), encoding, 0
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        return text, encoding, text.count("\ufffd")


def _codec(label: str) -> str:
    """Python's codec for a label, or "" where there is none that may be used."""
    label = label.strip().strip("\"'").lower()
    label = _LABELS.get(label, label)
    if not label or _REFUSED.search(label):
        return ""
    try:
        # Decoding, not looking up: it refuses codecs that are no text encodings ("hex", "rot13").
        b"x".decode(label)
        return codecs.lookup(label).name
    except (LookupError, ValueError):
        return ""


def _unmarked_utf16(data: bytes) -> str:
    """UTF-16 without its mark: in Latin text every second byte is a NUL."""
    head = data[: 4096 & ~1]
    half = len(head) // 2
    if half < 4:
        return ""
    even, odd = head[0::2].count(0) / half, head[1::2].count(0) / half
    if odd > 0.6 and even < 0.05:
        return "utf-16-le"
    if even > 0.6 and odd < 0.05:
        return "utf-16-be"
    return ""


def _guess(data: bytes) -> str:
    """The likeliest encoding of bytes that are not UTF-8."""
    # charset-normalizer looks at samples of what it is given, so it is given the lines that tell: the rest of the file may be pure ASCII.
    telling = b"\n".join(line for line in data.splitlines() if not line.isascii())
    if _western(telling):
        return "cp1252"
    japanese = next((codec for codec in ("cp932", "euc_jp") if _kana(telling, codec)), "")
    if japanese:
        return japanese
    from charset_normalizer import from_bytes

    best = from_bytes(telling, cp_exclusion=_EBCDIC).best()
    if best is None:
        return "cp1252"
    # The same text under several names: take the one people know.
    return "cp1252" if "cp1252" in best.could_be_from_charset else best.encoding


def _kana(telling: bytes, codec: str) -> bool:
    """Whether it is Japanese in this encoding: a fifth of what is not ASCII are kana. Statistics take short pieces for Korean."""
    try:
        text = telling.decode(codec)
    except UnicodeDecodeError:
        return False
    beyond = sum(not character.isascii() for character in text)
    return 5 * len(_KANA.findall(text)) >= beyond > 0


def _western(telling: bytes) -> bool:
    """Whether a few accents among Latin letters are all there is: too little for statistics, which then answer with rare code pages."""
    high = bytes(byte for byte in telling[:1000] if byte >= 0x80)
    if len(telling) > 1000 or len(high) > 0.5 * len(telling):
        return False
    return set(high) <= _ACCENTS
