"""The documents say what is there: every room has its README, every file stands in it, and the README's commands exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["renderer", "cache_compiler", "retrieval", "ingest", "app", "eval", "web"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_of_a_room_stands_in_its_readme(room: str) -> None:
    said = (ROOT / room / "README.md").read_text(encoding="utf-8")
    pattern = "*.js" if room == "web" else "*.py"
    missing = [path.name for path in sorted((ROOT / room).glob(pattern)) if not path.name.startswith("__") and path.stem not in said]
    assert not missing, f"{room}/README.md does not name {missing}"


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    assert "make demo" in readme
    assert "make check test" in readme
    for target in re.findall(r"make ((?:[a-z]+ ?)+)", readme):
        for word in target.split():
            if word in ("demo", "check", "test", "serve", "setup", "help", "clean"):
                assert re.search(rf"^{word}:", makefile, re.MULTILINE)


def test_ci_runs_the_readmes_test_command() -> None:
    assert "make check test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pinned = {
        line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line
    }
    names = {re.split(r"[><=\[ ;]", name)[0].lower() for name in wanted}
    assert not names - pinned


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "LICENSE", "NOTICE"])
def test_the_root_documents_are_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 500


def test_the_licence_of_pymupdf_is_said() -> None:
    assert "AGPL" in (ROOT / "README.md").read_text(encoding="utf-8")
