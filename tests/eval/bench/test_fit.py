"""The fit finds the law behind exact measurements, and gives no cost that is negative."""

import pytest
import torch

from eval.bench.fit import bandwidth, fit


def test_an_exact_law_is_found_again() -> None:
    sizes = [1e6, 5e6, 2e7, 9e7]
    found = fit({"fixed": [1.0] * 4, "bytes": sizes}, [0.001 + 2e-10 * size for size in sizes])
    assert found.coefficients == {"fixed": pytest.approx(0.001), "bytes": pytest.approx(2e-10)}
    assert found.error < 1e-9
    assert found.r2 == pytest.approx(1.0)
    assert found.at({"fixed": 1.0, "bytes": 1e7}) == pytest.approx(0.003)


def test_a_cost_that_would_be_negative_is_left_out() -> None:
    found = fit({"fixed": [1.0] * 3, "bytes": [1.0, 2.0, 3.0]}, [1.0, 3.0, 5.0])
    assert found.coefficients["fixed"] == 0.0
    assert found.coefficients["bytes"] > 0


def test_small_measurements_count_as_much_as_large_ones() -> None:
    # One law for small sizes, a little off for the largest: by absolute residuals the small ones would be missed by far.
    found = fit({"bytes": [1.0, 2.0, 1000.0]}, [1.0, 2.0, 1200.0])
    assert found.coefficients["bytes"] == pytest.approx(1.05, abs=0.03)


def test_more_coefficients_than_measurements_are_refused() -> None:
    with pytest.raises(ValueError, match="measure more"):
        fit({"fixed": [1.0], "bytes": [1.0]}, [1.0])


def test_a_bandwidth_is_a_positive_number() -> None:
    assert bandwidth(torch.device("cpu"), size=1 << 16, repeats=1) > 0
