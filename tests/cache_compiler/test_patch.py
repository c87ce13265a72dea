"""What names a patch, what it weighs, and how two of them add up."""

import pytest
import torch

from cache_compiler.errors import PatchMismatch
from cache_compiler.patch import Basis, Factors, Patch, PatchKey, stacked

PAGE, ONE, TWO = "b" * 32 + "@120", "1" * 32 + "@72", "2" * 32 + "@72"


def patch(key: PatchKey, m: int = 3, n: int = 6, layers: int = 2, seed: int = 0) -> Patch:
    generator = torch.Generator().manual_seed(seed)
    pairs = [
        Factors(torch.randn(layers, n, m, generator=generator), torch.randn(layers, m, width, generator=generator)) for width in (8, 4)
    ]
    return Patch(key, *pairs)


def test_every_field_of_a_key_changes_its_name() -> None:
    base = PatchKey(PAGE, (ONE, TWO), "exact", 8)
    others = [
        PatchKey(ONE, (ONE, TWO), "exact", 8),
        PatchKey(PAGE, (TWO, ONE), "exact", 8),
        PatchKey(PAGE, (ONE, TWO), "orbit", 8),
        PatchKey(PAGE, (ONE, TWO), "exact", 16),
        PatchKey(PAGE, (ONE, TWO), "exact", 8, first_layer=2),
        PatchKey(PAGE, (ONE, TWO), "exact", 8, basis="ab"),
        PatchKey(PAGE, (ONE, TWO), "exact", 8, left=(ONE,)),
    ]
    assert len({key.digest for key in [base, *others]}) == len(others) + 1
    assert PatchKey(PAGE, (ONE, TWO), "exact", 8).digest == base.digest


def test_an_orbit_has_no_order() -> None:
    assert PatchKey(PAGE, (TWO, ONE), "orbit", 8) == PatchKey(PAGE, (ONE, TWO), "orbit", 8)


def test_a_key_knows_every_page_that_the_patch_says_something_of() -> None:
    assert PatchKey(PAGE, (ONE, TWO), "removal", 8, left=(ONE,)).pages == {PAGE, ONE, TWO}


def test_a_key_reads_as_a_person_would_say_it() -> None:
    assert str(PatchKey(PAGE, (ONE,))) == "exact r32"
    assert str(PatchKey(PAGE, (ONE,), "orbit", 16, 14, "ab")) == "orbit pooled r16 from layer 14"


def test_bytes_are_those_of_the_factors_and_a_shared_basis_is_not_a_patchs_own() -> None:
    own = patch(PatchKey(PAGE, (ONE,), rank=3))
    assert own.bytes == 4 * 2 * (6 * 3 + 3 * 8 + 6 * 3 + 3 * 4)
    assert patch(PatchKey(PAGE, (ONE,), rank=3, basis="ab")).bytes == 4 * 2 * (6 * 3 + 6 * 3)


def test_two_patches_side_by_side_are_their_sum() -> None:
    one, two = patch(PatchKey(PAGE, (ONE,)), seed=1), patch(PatchKey(PAGE, (ONE,), "removal"), m=2, seed=2)
    both = stacked(one, two)
    torch.testing.assert_close(both.rotary.product(2), one.rotary.product(2) + two.rotary.product(2))
    torch.testing.assert_close(both.plain.product(1), one.plain.product(1) + two.plain.product(1))
    with pytest.raises(PatchMismatch, match=TWO):
        stacked(one, patch(PatchKey(TWO, (ONE,))))
    with pytest.raises(PatchMismatch):
        stacked(one, patch(PatchKey(PAGE, (ONE,), first_layer=2), layers=1))


def test_a_basis_is_named_by_its_content() -> None:
    basis = Basis(1, torch.eye(4).expand(2, 4, 4), torch.eye(4)[:2].expand(2, 2, 4))
    assert basis.rank == 4
    assert basis.bytes == 4 * 2 * (16 + 8)
    assert basis.digest == Basis(1, basis.rotary.clone(), basis.plain.clone()).digest
    assert basis.digest != Basis(2, basis.rotary, basis.plain).digest
    assert basis.digest != Basis(1, basis.rotary, basis.plain * 2).digest
