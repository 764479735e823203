"""The projector on most of the energy, against NumPy's SVD of the rows themselves."""

import numpy as np
import pytest
import torch

from sdsl.algorithms.subspace import eigh, energy_projector, held_part


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


def test_held_in_part_a_step_along_large_rows_is_that_of_standardised_ones():
    """Mean squares 50 and 8 of width 4: I - P leaves 4 / 50 and, held by .6, .4 of a step."""
    values = torch.tensor([[50.0, 8, 1, 0.5]])
    for c, expected in ((0.6, [1 - 4 / 50, 0.6]), (0.1, [1 - 4 / 50, 0.5]), (1.0, [1.0, 1.0])):
        part = held_part(values, torch.tensor([c]))
        torch.testing.assert_close(part[0, :2], torch.tensor(expected))
        assert part[0, 2:].tolist() == pytest.approx([c, c])  # small enough as they are


@pytest.mark.parametrize("fails", ["nan", "error"])
def test_where_single_precision_fails_double_is_asked(fails, monkeypatch):
    """MKL gives NaN for some sound matrices; the others keep their bits."""
    A = torch.randn(3, 20, 6, generator=torch.Generator().manual_seed(0))
    gram = A.mT @ A
    plain = torch.linalg.eigh

    def failing(g):
        values, vectors = plain(g)
        bad = [bool((one == gram[1]).all()) for one in g] if g.dtype == torch.float32 else []
        if any(bad) and fails == "error":
            raise torch.linalg.LinAlgError("did not converge")
        if any(bad):
            values[bad.index(True)] = torch.nan
        return values, vectors

    sound = plain(gram)
    monkeypatch.setattr(torch.linalg, "eigh", failing)
    values, vectors = eigh(gram)
    torch.testing.assert_close(values, sound[0])
    for b in (0, 2):
        assert torch.equal(values[b], sound[0][b]) and torch.equal(vectors[b], sound[1][b])
    torch.testing.assert_close(vectors[1] @ values[1].diag() @ vectors[1].T, gram[1])
