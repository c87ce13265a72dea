"""Only what has the form of a key may name a file."""

import pytest

from cache_compiler.errors import CacheMiss
from cache_compiler.keys import digest, image_key, is_digest, is_image_key

HEX = "0123456789abcdef" * 2


@pytest.mark.parametrize("key", [f"{HEX}@72", f"{HEX}@120", "deadbeef@600", f"{HEX}{HEX}@72"])
def test_a_key_is_itself(key: str) -> None:
    assert is_image_key(key)
    assert image_key(key) == key


def test_a_digest_is_itself() -> None:
    assert is_digest(HEX)
    assert digest(HEX) == HEX


@pytest.mark.parametrize(
    "key", ["", "..", "/", "a/b", f"{HEX}@72/..", f"{HEX}@72\n", f"{HEX}@7200", f"{HEX.upper()}@72", f"{HEX}\0", "bases"]
)
def test_anything_else_never_becomes_a_path(key: str) -> None:
    assert not is_image_key(key)
    assert not is_digest(key)
    for check in (image_key, digest):
        with pytest.raises(CacheMiss):
            check(key)
