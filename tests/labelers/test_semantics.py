"""Invariant label semantics (Eq. 7): projector, closed form, penalty, Procrustes."""

import numpy as np
import pytest
import torch

from sdsl.labelers.robust import Semantics, gram_embedding, label_projector

C, M = 5, 7


def prototypes(seed=0, classes=C) -> torch.Tensor:
    return torch.randn(classes, M, generator=torch.Generator().manual_seed(seed)).double()


def project(U: torch.Tensor, energy=1.0) -> Semantics:
    return Semantics("project", label_projector(U, energy))


def gram(U: torch.Tensor) -> Semantics:
    return Semantics("gram", gram_embedding(U))


@pytest.mark.parametrize("energy", [0.0, 0.5, 0.9, 1.0])
def test_the_projector_is_that_of_the_leading_label_side_singular_vectors(energy):
    U = prototypes()
    P = label_projector(U, energy)
    left, values, _ = np.linalg.svd(U.numpy())  # U is C x m here: labels on the left
    share = np.cumsum(values**2) / np.sum(values**2)
    r = min(int(np.argmax(share >= energy - 1e-12)) + 1, C - 1)  # C would make R vanish
    np.testing.assert_allclose(P, left[:, :r] @ left[:, :r].T, atol=1e-10)
    np.testing.assert_allclose(P @ P, P, atol=1e-10)
    assert float(P.trace()) == pytest.approx(r)


def test_gold_itself_has_no_penalty_where_its_rank_is_low():
    U = prototypes()
    U[3:] = U[:2] + U[1:3]  # rank 3 of 5
    penalty, slope = project(U).penalty(U)
    assert penalty < 1e-10 and slope.abs().max() < 1e-6
    assert project(prototypes()).penalty(prototypes(1))[0] > 1e-4


@pytest.mark.parametrize("anchor", [0.0, 0.5, 1.0, 20.0])
def test_the_closed_form_is_where_alternating_updates_end(anchor):
    """min over U and H of |U - E|^2 + a |U - H^T V|^2, 500 alternations in plain NumPy."""
    ils, E = project(prototypes(), 0.8), prototypes(2)
    values, vectors = np.linalg.eigh(ils.V.numpy())
    V = vectors[:, values > 0.5].T  # [r, C], any basis of the row space
    U = target = E.numpy().T  # [m, C], the paper's orientation
    for _ in range(500):
        U = (target + anchor * (U @ np.linalg.pinv(V)) @ V) / (1 + anchor)
    np.testing.assert_allclose(ils.refine(E, anchor).numpy().T, U, atol=1e-10)


@pytest.mark.parametrize("reading", [lambda U: project(U, 0.8), gram])
def test_the_penalty_and_its_gradient_against_central_differences(reading):
    ils, U, eps = reading(prototypes()), prototypes(3), 1e-6
    penalty, slope = ils.penalty(U)
    torch.testing.assert_close(penalty, (U - ils.fitted(U)).square().sum() / (M * C))
    assert penalty > 1e-3
    for c, k in np.ndindex(C, M):
        up, down = U.clone(), U.clone()
        up[c, k] += eps
        down[c, k] -= eps
        numeric = (ils.penalty(up)[0] - ils.penalty(down)[0]) / (2 * eps)
        torch.testing.assert_close(slope[c, k], numeric, rtol=1e-5, atol=1e-8)


def rotation(seed=5) -> torch.Tensor:
    square = torch.randn(M, M, generator=torch.Generator().manual_seed(seed)).double()
    return torch.linalg.qr(square)[0]


@pytest.mark.parametrize("classes", [2, C])
def test_gram_keeps_golds_angles_and_lengths_in_any_rotation(classes):
    U, E = prototypes(classes=classes), prototypes(4, classes)
    ils = gram(U)
    turned = U @ rotation()
    torch.testing.assert_close(ils.refine(turned, 1.0), turned)
    assert ils.penalty(turned)[0] < 1e-12
    hard = ils.refine(E, 1e12)
    torch.testing.assert_close(hard @ hard.T, U @ U.T)
    assert ils.penalty(E)[0] > 1e-3  # not empty for two classes either


def test_gram_finds_the_nearest_rotation():
    """Orthogonal Procrustes: no other orthonormal H^T comes nearer to E."""
    ils, E = gram(prototypes()), prototypes(4)
    best = (E - ils.fitted(E)).square().sum()
    for seed in range(20):
        assert best <= (E - ils.V @ rotation(seed)[:C]).square().sum()
