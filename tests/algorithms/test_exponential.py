"""exp in arithmetic alone: against the library's, at the ends of its range too."""

import math

import numpy as np
import pytest

from sdsl.algorithms.exponential import exp


def test_it_is_the_librarys_to_the_last_bits():
    x = np.concatenate([np.linspace(-700, 700, 2001), np.random.default_rng(0).normal(size=2000)])
    found = np.array([exp(one) for one in x])
    np.testing.assert_allclose(found, np.exp(x), rtol=5e-16)


@pytest.mark.parametrize(("x", "expected"), [(0.0, 1.0), (-709.0, 0.0), (-math.inf, 0.0)])
def test_at_the_ends(x, expected):
    assert exp(x) == expected


def test_nan_stays():
    assert math.isnan(exp(math.nan))
