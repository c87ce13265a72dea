"""A folder goes in; a `Home` comes out: where the catalogue, the caches, the images, the index and the uploads are kept.

<home>/catalogue.sqlite     documents, chunks, vectors, pages, jobs
<home>/store/<identity>/    page caches of one model and style, and their patches
<home>/images/ab/           the page images that the model read
<home>/index/               FAISS, rebuilt from the catalogue when it is missing
<home>/spool/               uploads on their way through ingest
<home>/weights.json         digests of model files that have not changed since they were hashed; can be deleted
<home>/lock                 held by a writer while it commits
<home>/serving              held by the one server that works on the uploads
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from cache_compiler.files import sweep
from cache_compiler.patch_files import PatchFiles

from .errors import HomeBusy


class Home:
    """One documented folder holds everything; deleting it deletes everything."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root).expanduser().resolve()
        self.root.mkdir(parents=True, exist_ok=True)
        self.spool.mkdir(exist_ok=True)

    @property
    def catalogue_path(self) -> Path:
        return self.root / "catalogue.sqlite"

    @property
    def store_root(self) -> Path:
        return self.root / "store"

    @property
    def images_root(self) -> Path:
        return self.root / "images"

    @property
    def index_folder(self) -> Path:
        return self.root / "index"

    @property
    def spool(self) -> Path:
        return self.root / "spool"

    @property
    def weights_memo(self) -> Path:
        return self.root / "weights.json"

    @contextmanager
    def writing(self, timeout: float = 60.0) -> Iterator[None]:
        """Hold the writer's lock: for a commit or a deletion, never while a model runs. Raises HomeBusy."""
        try:
            with FileLock(self.root / "lock", timeout=timeout):
                yield
        except Timeout as error:
            raise HomeBusy(f"{self.root}: another process has been writing for {timeout:.0f} seconds; try again when it is done") from error

    def claim(self) -> BaseFileLock:
        """Be the one server that works on this home's uploads, until `release()` or the process's end. Raises HomeBusy."""
        # Taken by one thread and released by another: a lock that knows its thread would stay taken until the process ends.
        claim = FileLock(self.root / "serving", blocking=False, thread_local=False)
        try:
            claim.acquire()
        except Timeout as error:
            raise HomeBusy(f"{self.root}: another server works on this home; stop that one, or give this one another home") from error
        return claim

    def sweep(self) -> int:
        """Remove the half-written caches and images of processes that died; returns how many. Call it before this process writes."""
        return sweep(self.root)

    def derived_files(self, image_key: str) -> list[Path]:
        """Every file derived from a page at one DPI, of all models: its caches, its image, and every patch that knows of it; sorted."""
        patches = [path for files in self.patch_files() for path in files.knowing(image_key)]
        return sorted([*self.own_files(image_key), *patches])

    def own_files(self, image_key: str) -> list[Path]:
        """Of these, its caches and its image alone."""
        folder = image_key[:2]
        caches = self.store_root.glob(f"*/caches/{folder}/{image_key}.safetensors")
        return sorted([*caches, *(self.images_root / folder).glob(f"{image_key}.png")])

    def patch_files(self) -> list[PatchFiles]:
        """The patches of each identity that has any."""
        return [PatchFiles(folder) for folder in sorted(self.store_root.glob("*/patches"))]

    def page_files(self) -> list[Path]:
        """Every cache and every image there is, sorted; patches are not a page's alone, and are found by `patch_files`."""
        return sorted([*self.store_root.glob("*/caches/??/*@*.safetensors"), *self.images_root.glob("??/*@*.png")])
