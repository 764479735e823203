"""The projector on most of the energy, against NumPy's SVD of the rows themselves."""

import numpy as np
import pytest
import torch

from sdsl.algorithms.subspace import energy_projector


@pytest.mark.parametrize("energy", [0.5, 0.9, 1.0])
def test_it_is_the_span_of_the_leading_right_singular_vectors(energy):
    X = torch.randn(2, 30, 6, generator=torch.Generator().manual_seed(0)).double()
    X = X * torch.tensor([5.0, 3, 2, 1, 0.5, 0.1])
    P, rank = energy_projector(X.mT @ X, energy, most=5)
    for s in range(2):
        _, values, V = np.linalg.svd(X[s].numpy())
        share = np.cumsum(values**2) / (values**2).sum()
        k = min(int((share < energy).sum()) + 1, 5)
        assert rank[s] == k
        np.testing.assert_allclose(P[s], V[:k].T @ V[:k], atol=1e-10)


def test_rows_that_are_all_zero_span_nothing_harmful():
    P, rank = energy_projector(torch.zeros(1, 4, 4), 0.95, most=2)
    assert P.isfinite().all()
    assert rank.tolist() == [2]  # at most `most`
