"""A workshop over a fresh home, with the embedded reader and MiniLM loaded once for the room, and a few record files to take in."""

import functools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cache_compiler.backbone import Backbone
from cache_compiler.load import load_backbone
from eval.records import contexts
from ingest.home import Home
from ingest.opening import open_workshop
from ingest.pipeline import ingest
from ingest.policy import Policy
from ingest.shelf import BareShelf, open_shelf
from ingest.workshop import Workshop
from retrieval.embedder import Embedder, load_embedder

Open = Callable[[Path], Workshop]


@pytest.fixture(scope="session")
def backbone() -> Backbone:
    return load_backbone("reader")


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return load_embedder("minilm")


@pytest.fixture
def open_at(backbone: Backbone, embedder: Embedder) -> Iterator[Open]:
    """Open a workshop over a home; all of them are closed at the end."""
    opened = []

    def open_(home: Path) -> Workshop:
        opened.append(open_workshop(Home(home), backbone, embedder, batch=2))
        return opened[-1]

    yield open_
    for workshop in opened:
        workshop.close()


@pytest.fixture
def workshop(open_at: Open, tmp_path: Path) -> Workshop:
    return open_at(tmp_path / "home")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A folder of three text files of record pages; the second has two pages."""
    return write_records(tmp_path / "records")


def write_records(folder: Path) -> Path:
    folder.mkdir()
    pages = [page for context in contexts("build", 4, 1, 12, seed=3) for page in context.pages]
    (folder / "a.txt").write_text("\n".join(pages[0]) + "\n")
    (folder / "b.txt").write_text("\f".join("\n".join(page) + "\n" for page in pages[1:3]))
    (folder / "c.txt").write_text("\n".join(pages[3]) + "\n")
    return folder


@pytest.fixture(scope="session")
def taken_once(tmp_path_factory: pytest.TempPathFactory, backbone: Backbone, embedder: Embedder) -> Callable[..., Path]:
    """A closed home with some of the records in it, by their names, under a policy (None: the default). Made once; to be copied, never changed."""
    folder = write_records(tmp_path_factory.mktemp("files") / "records")

    @functools.cache
    def take(*names: str, policy: Policy | None = None) -> Path:
        workshop = open_workshop(Home(tmp_path_factory.mktemp("taken")), backbone, embedder, batch=2)
        workshop.policy = policy or workshop.policy
        assert len(ingest([folder / name for name in names], "default", workshop).done) == len(names)
        workshop.close()
        return workshop.home.root

    return take


@pytest.fixture
def take_in(taken_once: Callable[..., Path], open_at: Open, tmp_path: Path) -> Callable[..., Workshop]:
    """A workshop over a copy of such a home: compiling the pages anew for each test took most of the room's time."""

    def copy(*names: str, policy: Policy | None = None) -> Workshop:
        shutil.copytree(taken_once(*names, policy=policy), tmp_path / "home")
        return open_at(tmp_path / "home")

    return copy


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory, backbone: Backbone, embedder: Embedder) -> Path:
    """A closed home with one document of a page and one of two, with patches. To be copied, never changed."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "a.txt").write_text("Zyxomatic tower has staff 899 people.\n")
    (folder / "b.txt").write_text("Brobo mine has room 31712.\n\fIts owner is Bairu Groupa.\n")
    workshop = open_workshop(Home(tmp_path_factory.mktemp("sound")), backbone, embedder, batch=2)
    assert len(ingest([folder], "default", workshop).done) == 2
    workshop.close()
    return workshop.home.root


@pytest.fixture
def shelf(sound: Path, tmp_path: Path) -> Iterator[BareShelf]:
    """A copy of it, opened without a model."""
    shutil.copytree(sound, tmp_path / "shelf")
    with open_shelf(tmp_path / "shelf") as opened:
        yield opened


def files_of(home: Path) -> dict[str, bytes]:
    """Every file of a home but the catalogue's own (SQLite does not promise bytes) and the locks, by its path."""
    left_out = ("catalogue.sqlite", "lock", "serving")
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.startswith(left_out)
    }
