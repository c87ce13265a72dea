"""The placing kernel against plain torch: in Triton's interpreter, compiled without a GPU, and on one where there is one."""

import importlib.util
import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from cache_compiler import kernel
from cache_compiler.backbone import Backbone
from cache_compiler.errors import CacheError
from cache_compiler.kernel import add_patch, available, place_keys
from cache_compiler.types import Canonical

JITTED = "cache_compiler.kernel_triton"
LAYOUTS = [(True, True), (True, False), (False, True), (False, False)]


def triton_or_skip() -> None:
    pytest.importorskip("triton", reason="Triton is not installed: it comes with quire[gpu]")


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kernel runs on the CPU within this test alone: its module is loaded for it and dropped again.

    Triton itself is imported first: what of it were loaded under the variable would stay interpreted for the whole process.
    """
    triton_or_skip()
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    before = sys.modules.pop(JITTED, None)
    yield
    sys.modules.pop(JITTED, None)
    if before is not None:
        sys.modules[JITTED] = before


@dataclass(frozen=True)
class Page:
    """What `place_keys` takes, of noise: entries of order 1, and a patch of order 1."""

    keys: Tensor
    cos: Tensor
    sin: Tensor
    left: Tensor | None
    right: Tensor | None

    def still(self) -> "Page":
        """The same with no column turned: what values are."""
        return replace(self, cos=self.cos[:, :0], sin=self.sin[:, :0])

    def to(self, device: str) -> "Page":
        return Page(*(t if t is None else t.to(device) for t in (self.keys, self.cos, self.sin, self.left, self.right)))


def noise(
    layers: int = 2,
    heads: int = 2,
    n: int = 11,
    dim: int = 16,
    half: int = 8,
    rank: int = 0,
    patched: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Page:
    make = torch.Generator().manual_seed(layers + 10 * n + rank)
    angles = torch.rand(n, half, generator=make) * 1000
    left = right = None
    if rank:
        patched = patched or layers
        left = (torch.randn(patched, n, rank, generator=make) / rank**0.5).to(dtype)
        right = torch.randn(patched, rank, heads * dim, generator=make).to(dtype)
    return Page(torch.randn(layers, heads, n, dim, generator=make).to(dtype), angles.cos(), angles.sin(), left, right)


def expected(page: Page, first: int = 0, in_pairs: bool = True, out_pairs: bool = True, exact: bool = True) -> Tensor:
    """Equation 1 in torch: K + U S V^T of each layer, rotated. In fp64, or in fp32 as a model does it."""
    wide = torch.float64 if exact else torch.float32
    x = page.keys.to(wide)
    if page.left is not None and page.right is not None:
        patch = page.left.to(wide) @ page.right.to(wide)
        x[first : first + len(patch)] += patch.unflatten(2, (x.shape[1], x.shape[3])).transpose(1, 2)
    half = page.cos.shape[1]
    turned, tail = x[..., : 2 * half], x[..., 2 * half :]
    a, b = (turned[..., 0::2], turned[..., 1::2]) if in_pairs else (turned[..., :half], turned[..., half:])
    cos, sin = page.cos.to(wide), page.sin.to(wide)
    both = a * cos - b * sin, b * cos + a * sin
    return torch.cat([torch.stack(both, -1).flatten(-2) if out_pairs else torch.cat(both, -1), tail], -1)


def placed(page: Page, first: int = 0, in_pairs: bool = True, out_pairs: bool = True, dtype: torch.dtype | None = None) -> Tensor:
    out = torch.full_like(page.keys, float("nan"), dtype=dtype)
    place_keys(page.keys, page.cos, page.sin, out, page.left, page.right, first, in_pairs, out_pairs)
    return out


def assert_rounded_once(got: Tensor, exact: Tensor) -> None:
    """Half a step of the dtype, and what fp32 sums are off."""
    worst = ((got.double() - exact).abs() - exact.abs() * torch.finfo(got.dtype).eps / 2).max()
    assert worst <= 2e-6, worst


def test_the_kernel_turns_keys_as_the_model_itself_does(interpreted: None, backbone: Backbone, pages: list[Canonical]) -> None:
    page = pages[0]
    positions = page.at(1000).positions()
    cos, sin = backbone.pair_table(positions)
    out = torch.empty_like(page.rotary)
    with torch.inference_mode():
        place_keys(page.rotary, cos, sin, out, None, None, 0, *backbone.layout)
        assert torch.equal(out, backbone.rotate(page.rotary.float(), backbone.table(positions[:, None])))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_without_a_patch_every_bit_is_torchs(interpreted: None, layout: tuple[bool, bool], dtype: torch.dtype) -> None:
    page = noise(dtype=dtype)
    assert torch.equal(placed(page, 0, *layout), expected(page, 0, *layout, exact=False).to(dtype))


@pytest.mark.parametrize("rank", [1, 5, 16, 130])
def test_a_patch_of_any_rank_is_added_to_fp32_sums(interpreted: None, rank: int) -> None:
    page = noise(rank=rank)
    assert (placed(page) - expected(page)).abs().max() <= 2e-6


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_patch_lies_in_the_layout_of_the_keys_that_come_in(interpreted: None, layout: tuple[bool, bool]) -> None:
    page = noise(rank=5)
    assert (placed(page, 0, *layout) - expected(page, 0, *layout)).abs().max() <= 2e-6


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_rounded_once_behind_everything(interpreted: None, dtype: torch.dtype) -> None:
    page = noise(rank=16, dtype=dtype)
    assert_rounded_once(placed(page), expected(page))


def test_a_page_may_be_stored_in_another_dtype_than_the_slab(interpreted: None) -> None:
    page = noise(rank=5, dtype=torch.bfloat16)
    assert (placed(page, dtype=torch.float32) - expected(page)).abs().max() <= 2e-6


def test_columns_behind_the_rotary_ones_are_patched_and_not_turned(interpreted: None) -> None:
    """80 of them: more than one tile, and the last tile is not full. 5 pairs: not a power of two either."""
    page = noise(heads=1, dim=90, half=5, rank=5)
    got = placed(page)
    assert (got - expected(page)).abs().max() <= 2e-6
    bare = noise(heads=1, dim=90, half=5)
    assert torch.equal(placed(bare)[..., 10:], bare.keys[..., 10:])


def test_layers_outside_the_patch_are_placed_as_they_are(interpreted: None) -> None:
    page = noise(layers=4, heads=1, rank=5, patched=2)
    got = placed(page, first=1)
    assert (got - expected(page, first=1)).abs().max() <= 2e-6
    bare = expected(replace(page, left=None, right=None), exact=False)
    assert torch.equal(got[0], bare[0])
    assert torch.equal(got[3], bare[3])
    assert (got[1:3] - bare[1:3]).abs().amax((1, 2, 3)).min() > 0.1


def test_only_the_pages_own_rows_of_the_slab_are_written(interpreted: None) -> None:
    """70 rows: a full block and a part of one. The keys, the table and the factors are views with gaps between their rows."""
    page = noise(heads=2, n=70, rank=5)
    wanted = expected(page)

    def gapped(tensor: Tensor) -> Tensor:
        return torch.cat([tensor, torch.full_like(tensor, float("nan"))], -1)[..., : tensor.shape[-1]]

    by_token = page.keys.transpose(1, 2).contiguous().transpose(1, 2)
    assert page.left is not None
    assert page.right is not None
    page = Page(gapped(by_token), gapped(page.cos), gapped(page.sin), gapped(page.left), gapped(page.right))
    slab = torch.full((2, 1, 2, 90, 16), 7.0)
    place_keys(page.keys, page.cos, page.sin, slab[:, 0, :, 9:79], page.left, page.right)
    assert (slab[:, 0, :, 9:79] - wanted).abs().max() <= 2e-6
    slab[:, 0, :, 9:79] = 7.0
    assert (slab == 7.0).all()


def test_values_are_patched_and_not_turned(interpreted: None) -> None:
    page = noise(layers=3, dim=70, rank=33, patched=2, dtype=torch.bfloat16)
    out = torch.empty_like(page.keys)
    add_patch(page.keys, out, page.left, page.right, first_layer=1)
    assert_rounded_once(out, expected(page.still(), first=1))
    assert torch.equal(out[0], page.keys[0])
    add_patch(page.keys, out, None, None)
    assert torch.equal(out, page.keys)


def test_what_is_no_number_stays_none_and_infinity_stays_infinite(interpreted: None) -> None:
    values = torch.tensor([float("inf"), -float("inf"), float("nan"), 3.4e38, -0.0, 1e-37]).view(1, 1, 1, 6)
    # The bits that a GPU gives a NaN: rounded like a number they would carry over into -0.
    values = torch.cat([values, torch.tensor([0x7FFFFFFF], dtype=torch.int32).view(torch.float32).view(1, 1, 1, 1)], -1)
    out = torch.zeros(1, 1, 1, 7, dtype=torch.bfloat16)
    add_patch(values, out, None, None)
    assert torch.equal(out.isnan(), values.isnan())
    number = ~values.isnan()
    assert torch.equal(out[number].view(torch.int16), values[number].bfloat16().view(torch.int16))


def test_a_slab_may_have_more_elements_than_32_bits_count(interpreted: None, tmp_path: Path) -> None:
    """Three layers, 2^30 elements from one to the next: on a sparse file, of which a few pages are touched."""
    apart = 1 << 30
    memory = torch.from_file(str(tmp_path / "slab"), shared=True, size=2 * apart + 32, dtype=torch.float16)
    slab = memory.as_strided((3, 1, 2, 16), (apart, 32, 16, 1))
    page = noise(layers=3, heads=1, n=2, dtype=torch.float16)
    place_keys(page.keys, page.cos, page.sin, slab, None, None)
    assert torch.equal(slab, expected(page, exact=False).half())


def test_a_page_of_no_rows_is_nothing_to_do() -> None:
    page = noise(n=0)
    place_keys(page.keys, page.cos, page.sin, torch.empty_like(page.keys), None, None)


REFUSALS = {
    "one shape": lambda p: place_keys(p.keys, p.cos, p.sin, p.keys[:, :, 1:], p.left, p.right),
    "into a slice of": lambda p: place_keys(p.keys[0], p.cos, p.sin, p.keys[0], p.left, p.right),
    "one angle a pair": lambda p: place_keys(p.keys, p.cos[1:], p.sin[1:], p.keys.clone(), p.left, p.right),
    "a rounded angle turns every key": lambda p: place_keys(p.keys, p.cos.bfloat16(), p.sin.bfloat16(), p.keys.clone(), p.left, p.right),
    "half a patch": lambda p: add_patch(p.keys, p.keys.clone(), p.left, None),
    r"\[patched, rank, heads \* dim\]": lambda p: add_patch(p.keys, p.keys.clone(), p.left, p.right[..., 1:]),
    "layers 1 to 3 of 2": lambda p: add_patch(p.keys, p.keys.clone(), p.left, p.right, first_layer=1),
    "out is torch.int32": lambda p: add_patch(p.keys, p.keys.int(), p.left, p.right),
    "out is on meta": lambda p: add_patch(p.keys, p.keys.to("meta"), p.left, p.right),
    "left has last stride 11": lambda p: add_patch(p.keys, p.keys.clone(), p.left.mT.contiguous().mT, p.right),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_what_does_not_fit_is_refused_before_a_pointer_is_followed(message: str) -> None:
    with pytest.raises(CacheError, match=message):
        REFUSALS[message](noise(rank=5))


def test_a_compiled_kernel_refuses_caches_that_are_on_no_gpu() -> None:
    triton_or_skip()
    page = noise()
    with pytest.raises(CacheError, match="these caches are on cpu"):
        placed(page)
    assert not available(page.keys.device)


def test_where_triton_is_missing_the_module_loads_and_says_so_when_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, JITTED, raising=False)
    spec = importlib.util.spec_from_file_location("cache_compiler.kernel_again", kernel.__file__)
    assert spec is not None
    assert spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    assert not again.available(torch.device("cuda"))
    page = noise()
    with pytest.raises(CacheError, match=r"quire\[gpu\]"):
        again.add_patch(page.keys, page.keys.clone(), None, None)


@pytest.mark.parametrize("with_patch", [False, True])
def test_the_kernel_compiles_for_a_gpu_and_fuses_nothing_in_the_rotation(
    with_patch: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter takes what the compiler refuses, a variable that changes its shape in a loop for one. No GPU is needed."""
    triton_or_skip()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from cache_compiler.kernel_triton import RANKS, place

    sizes = {"dim": 80, "half": 32, "block": 16, "pairs": 32, "tail": 16, "step": RANKS}
    constants = {**sizes, "in_pairs": True, "out_pairs": False, "with_patch": with_patch}
    kinds = {**dict.fromkeys(("keys", "out", "left", "right"), "*bf16"), "cos": "*fp32", "sin": "*fp32"}
    signature = {name: "constexpr" if name in constants else kinds.get(name, "i32") for name in place.arg_names}
    compiled = triton.compile(ASTSource(place, signature, constants), target=GPUTarget("cuda", 90, 32), options={"enable_fp_fusion": False})
    assert compiled.asm["cubin"]
    # A fused multiply-add rounds once where torch rounds twice. The patch's product is made of them, the rotation must not be.
    assert ("fma.rn.f32" in compiled.asm["ptx"]) == with_patch


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="TRITON_INTERPRET is set: nothing would be compiled")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_the_compiled_kernel_agrees_with_torch(dtype: torch.dtype) -> None:
    triton_or_skip()
    for rank, layout in itertools.product([0, 5, 32, 130], LAYOUTS):
        page = noise(layers=3, heads=4, n=300, dim=128, half=48, rank=rank, patched=2, dtype=dtype)
        there = page.to("cuda")
        assert available(there.keys.device)
        assert_rounded_once(placed(there, 1, *layout).cpu(), expected(page, 1, *layout))
        values = torch.empty_like(there.keys)
        add_patch(there.keys, values, there.left, there.right, 1)
        assert_rounded_once(values.cpu(), expected(page.still(), 1))
