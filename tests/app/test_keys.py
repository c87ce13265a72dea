"""API keys: told once, kept as digests, found whichever they are, taken up and revoked while a server runs."""

import json
import stat
import threading

import pytest

from app import keys as keys_module
from app.errors import BadKeys
from app.keys import MARK, KeyRing


@pytest.fixture
def ring(tmp_path) -> KeyRing:
    return KeyRing(tmp_path)


def test_a_key_is_found_by_itself_alone(ring):
    key, token = ring.create("alice", ["ask", "read"])
    other, second = ring.create("bob", ["write"])
    assert ring.find(token) == key
    assert ring.find(second) == other
    assert key.scopes == ("read", "ask")
    for wrong in ("", MARK, token[:-1], token + "x", token.upper(), "x" * 10_000, "qk_ä\ud800"):
        assert ring.find(wrong) is None


def test_the_file_holds_no_key_and_is_its_owners_alone(ring):
    _, token = ring.create("alice", ["read"])
    said = ring.path.read_text()
    assert token not in said
    assert token.removeprefix(MARK) not in said
    assert stat.S_IMODE(ring.path.stat().st_mode) == 0o600
    assert len(token) >= len(MARK) + 43  # 256 bits in base64


def test_a_second_ring_sees_what_the_first_one_does_at_once(ring, tmp_path):
    running = KeyRing(tmp_path)
    assert not running.in_force()
    key, token = ring.create("alice", ["read"])
    assert running.find(token) == key
    ring.revoke("alice")
    assert running.find(token) is None


def test_keys_stay_in_force_when_the_last_one_is_revoked(ring):
    ring.create("alice", ["read"])
    ring.revoke("alice")
    assert ring.in_force()
    assert ring.keys()[0].state(0) == "revoked"


def test_a_key_expires(ring, monkeypatch):
    key, token = ring.create("alice", ["read"], days=1)
    assert ring.find(token) == key
    monkeypatch.setattr(keys_module.time, "time", lambda: key.expires)
    assert ring.find(token) is None
    assert key.state(key.expires) == "expired"


@pytest.mark.parametrize(
    ("name", "scopes", "says"),
    [
        ("", ["read"], "cannot name a key"),
        ("a\nb", ["read"], "cannot name a key"),
        ("a", [], "opens nothing"),
        ("a", ["admin"], "'admin' is no scope; there are read, ask, write"),
    ],
)
def test_what_cannot_be_a_key_is_refused_with_the_reason(ring, name, scopes, says):
    with pytest.raises(BadKeys, match=says):
        ring.create(name, scopes)
    assert not ring.path.exists()


def test_a_name_may_be_used_again_when_its_key_is_revoked(ring):
    ring.create("alice", ["read"])
    with pytest.raises(BadKeys, match="already"):
        ring.create("alice", ["read"])
    ring.revoke("alice")
    second, _ = ring.create("alice", ["read"])
    assert ring.revoke(second.id).id == second.id
    with pytest.raises(BadKeys, match="no key of the id or name"):
        ring.revoke("alice")


def test_a_home_that_cannot_be_looked_into_is_an_error_and_not_an_open_house(tmp_path):
    (tmp_path / "home").write_text("a file, not a folder")
    with pytest.raises(BadKeys, match="cannot be looked at"):
        KeyRing(tmp_path / "home").in_force()


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"format": 2, "keys": []}', '{"format": 1, "keys": [{"id": "x"}]}', "\x00"])
def test_a_damaged_file_is_an_error_and_not_an_open_house(ring, said):
    ring.path.write_text(said)
    ring.path.chmod(0o600)
    with pytest.raises(BadKeys):
        ring.in_force()


def test_a_file_that_others_may_write_to_is_not_trusted(ring):
    ring.create("alice", ["read"])
    ring.path.chmod(0o666)
    ring.path.write_text(ring.path.read_text() + " ")
    with pytest.raises(BadKeys, match="chmod 600"):
        ring.keys()


def test_two_who_make_keys_at_once_lose_none(tmp_path):
    threads = [threading.Thread(target=lambda n=n: KeyRing(tmp_path).create(f"key {n}", ["read"])) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads((tmp_path / "keys.json").read_text())["keys"]) == 6
