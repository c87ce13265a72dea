"""What the room's tests share: random models of the real class, pages of noise, and their canonical caches."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from PIL import Image

from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages
from cache_compiler.families import FAMILIES
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Canonical, Encoded
from renderer.types import PageImage

# Wide, tall and square: rows and positions part ways in each another way.
GRIDS = [(3, 5), (6, 2), (4, 4)]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Toy models are faster on one thread than on many."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def backbone() -> Backbone:
    return random_backbone("tiny", attention="sdpa")


@pytest.fixture(scope="session", params=["sdpa", "eager"])
def either(request: pytest.FixtureRequest) -> Backbone:
    """The same random model under each attention."""
    return random_backbone("tiny", attention=request.param)


@pytest.fixture(scope="session", params=FAMILIES)
def every(request: pytest.FixtureRequest) -> Backbone:
    """A random model of each family."""
    return random_backbone("tiny", family=request.param)


@pytest.fixture(scope="session")
def three(every: Backbone, noise: Callable[..., PageImage]) -> list[Encoded]:
    """Three encoded pages for it: images of noise, or runs of random tokens where it reads text alone."""
    if every.reads_images:
        return every.encode([noise(number, *grid, cell=every.cell) for number, grid in enumerate(GRIDS)])
    random = np.random.default_rng(3)
    return [every.encode_text(f"{number:032x}", random.integers(20, 1000, length).tolist()) for number, length in enumerate((17, 9, 23))]


@pytest.fixture(scope="session")
def noise() -> Callable[..., PageImage]:
    """`noise(number, rows, columns)`: a page of noise of that many cells; the number is its key and its seed."""

    def make(number: int, rows: int, columns: int, cell: int = 16) -> PageImage:
        pixels = np.random.default_rng(number).integers(0, 255, (cell * rows, cell * columns, 3), dtype=np.uint8)
        return PageImage(f"{number:032x}", 72, cell, Image.fromarray(pixels))

    return make


@pytest.fixture(scope="session")
def images(noise: Callable[..., PageImage]) -> list[PageImage]:
    return [noise(number, rows, columns) for number, (rows, columns) in enumerate(GRIDS)]


@pytest.fixture(scope="session")
def prefix(backbone: Backbone) -> Prefix:
    return compile_prefix(backbone, condition_ids(backbone, "template"))


@pytest.fixture(scope="session")
def pages(backbone: Backbone, images: list[PageImage], prefix: Prefix) -> list[Canonical]:
    return compile_pages(backbone, images, prefix)


@pytest.fixture(scope="session")
def small() -> Callable[..., Canonical]:
    """`small(number)`: a canonical of a few hundred bytes, for tests of the store that need no model."""

    def make(number: int = 1, dtype: torch.dtype = torch.float32, tokens: int = 2) -> Canonical:
        generator = torch.Generator().manual_seed(number)
        shape = (2, 1, tokens + 2, 4)
        rotary, plain = (torch.randn(shape, generator=generator).to(dtype) for _ in range(2))
        return Canonical(f"{number:032x}@72", rotary, plain, 1, tokens)

    return make
