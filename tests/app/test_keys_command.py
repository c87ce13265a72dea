"""`quire key`: a key is told once, listed without itself, and revoked by id or name."""

import json

import pytest

from app.command import main
from app.keys import KeyRing


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["key", *words])
    return code, *capsys.readouterr()


def test_a_key_is_made_listed_and_revoked(tmp_path, capsys):
    home = ("--home", str(tmp_path))
    assert "There is no key" in run(capsys, "list", *home)[1]
    code, token, said = run(capsys, "create", "--name", "ci", "--scopes", "write, read", "--expires", "30", *home)
    token = token.strip()
    assert code == 0
    assert "told once" in said
    assert token not in said
    found = KeyRing(tmp_path).find(token)
    assert (found.name, found.scopes) == ("ci", ("read", "write"))
    assert 29.9 * 86_400 < found.expires - found.created <= 30 * 86_400
    listed = run(capsys, "list", *home)[1]
    assert found.id in listed
    assert "active" in listed
    assert token not in listed
    assert run(capsys, "revoke", found.id, *home)[0] == 0
    assert json.loads(run(capsys, "list", "--json", *home)[1])[0]["state"] == "revoked"
    assert KeyRing(tmp_path).find(token) is None


@pytest.mark.parametrize("words", [("create",), ("create", "alice"), ("revoke",), ("create", "--name", "a", "--expires", "0")])
def test_words_that_do_not_belong_together_are_wrong_use(tmp_path, capsys, words):
    try:
        code = main(["key", *words, "--home", str(tmp_path)])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert not (tmp_path / "keys.json").exists()


def test_a_key_that_there_is_not_cannot_be_revoked(tmp_path, capsys):
    code, _, said = run(capsys, "revoke", "nobody", "--home", str(tmp_path))
    assert code == 8
    assert "quire key list" in said
