"""Invariant label semantics: projector, closed form, penalty, Procrustes."""

import numpy as np
import pytest
import torch

from sdsl.algorithms.semantics import Gram, Off, Project, class_means, label_projector, semantics
from sdsl.core.replica import Rows

S, C, M = 2, 5, 7


def prototypes(seed=0, classes=C) -> torch.Tensor:
    return torch.randn(S, classes, M, generator=torch.Generator().manual_seed(seed)).double()


def gold(U: torch.Tensor) -> tuple[Rows, torch.Tensor]:
    """A gold set whose class means in feature space are exactly U: two rows a class."""
    off = torch.randn(U.shape, generator=torch.Generator().manual_seed(9)).to(U.dtype)
    f = torch.cat([U + off, U - off], 1)
    y = torch.arange(U.shape[1]).repeat(2).expand(S, -1)
    return Rows.full(torch.zeros(S, f.shape[1], 1), y), f


def project(U: torch.Tensor, energy=1.0) -> Project:
    return Project(*gold(U), U.shape[1], energy)


def test_class_means_count_real_rows_only():
    f = torch.tensor([[[1.0], [3.0], [10.0], [99.0]]])
    y = torch.tensor([[0, 0, 2, 0]])
    means, size = class_means(f, y, 3, torch.tensor([[True, True, True, False]]))
    assert means.flatten().tolist() == [2, 0, 10]
    assert size.flatten().tolist() == [2, 0, 1]


@pytest.mark.parametrize("energy", [0.5, 0.9, 0.999, 1.0])
def test_the_projector_is_one(energy):
    P, rank = label_projector(prototypes(), energy)
    torch.testing.assert_close(P @ P, P)
    torch.testing.assert_close(P.transpose(1, 2), P)
    torch.testing.assert_close(P.diagonal(dim1=1, dim2=2).sum(1), rank.double())


@pytest.mark.parametrize("energy", [0.0, 0.5, 0.9, 1.0])
def test_the_projector_is_that_of_the_leading_label_side_singular_vectors(energy):
    U = prototypes()
    P, rank = label_projector(U, energy)
    for s in range(S):
        left, values, _ = np.linalg.svd(U[s].numpy())  # U is C x m here: labels on the left
        share = np.cumsum(values**2) / np.sum(values**2)
        r = min(int(np.argmax(share >= energy - 1e-12)) + 1, C - 1)
        assert int(rank[s]) == r
        np.testing.assert_allclose(P[s], left[:, :r] @ left[:, :r].T, atol=1e-10)


def test_full_rank_would_make_the_constraint_empty():
    """r = C: P = I and R < 1e-10, so the rank stops at C - 1."""
    U = prototypes()
    V = np.linalg.svd(U[0].numpy())[0]
    P = V @ V.T
    assert np.sum((U[0].numpy() - P @ U[0].numpy()) ** 2) < 1e-10
    assert label_projector(U, 1.0)[1].tolist() == [C - 1] * S
    assert (project(U).penalty(prototypes(1))[0] > 1e-4).all()


def test_gold_itself_has_no_penalty_where_its_rank_is_low():
    U = prototypes()
    U[:, 3:] = U[:, :2] + U[:, 1:3]  # rank 3 of 5
    penalty, slope = project(U).penalty(U)
    assert penalty.max() < 1e-10
    assert slope.abs().max() < 1e-6


@pytest.mark.parametrize("anchor", [0.0, 0.5, 1.0, 20.0])
def test_the_closed_form_is_where_alternating_updates_end(anchor):
    """min over U and H of ||U - E||^2 + a ||U - H^T V||^2, 500 alternations in plain NumPy."""
    ils, E = project(prototypes(), 0.8), prototypes(2)
    closed = ils.refine(E, anchor)
    for s in range(S):
        values, vectors = np.linalg.eigh(ils.P[s].numpy())
        V = vectors[:, values > 0.5].T  # [r, C], any basis of the row space
        target = E[s].numpy().T  # [m, C], the paper's orientation
        U = target.copy()
        for _ in range(500):
            H_t = U @ np.linalg.pinv(V)
            U = (target + anchor * H_t @ V) / (1 + anchor)
        np.testing.assert_allclose(closed[s].numpy().T, U, atol=1e-10)


def test_no_anchor_is_no_refinement_and_a_hard_one_a_projection():
    ils, E = project(prototypes()), prototypes(2)
    torch.testing.assert_close(ils.refine(E, 0.0), E)
    torch.testing.assert_close(ils.refine(E, 1e12), ils.P @ E)


@pytest.mark.parametrize("mode", [Project, Gram])
def test_penalty_gradient_against_finite_differences(mode):
    ils, U, eps = mode(*gold(prototypes()), C, 0.8), prototypes(3), 1e-6
    penalty, slope = ils.penalty(U)
    assert (penalty > 1e-3).all()
    for c in range(C):
        for k in range(M):
            up, down = U.clone(), U.clone()
            up[:, c, k] += eps
            down[:, c, k] -= eps
            numeric = (ils.penalty(up)[0] - ils.penalty(down)[0]) / (2 * eps)
            torch.testing.assert_close(slope[:, c, k], numeric, rtol=1e-5, atol=1e-8)


def test_penalty_is_the_mean_square_off_the_span():
    ils, U = project(prototypes(), 0.8), prototypes(3)
    gap = U - ils.P @ U
    torch.testing.assert_close(ils.penalty(U)[0], gap.square().sum((1, 2)) / (M * C))


def rotation(seed=5) -> torch.Tensor:
    square = torch.randn(S, M, M, generator=torch.Generator().manual_seed(seed)).double()
    return torch.linalg.qr(square)[0]


@pytest.mark.parametrize("classes", [2, C])
def test_gram_rests_at_gold_in_any_rotation(classes):
    """Mutual angles and lengths as in gold: nothing to refine, nothing to penalise."""
    U = prototypes(classes=classes)
    ils = Gram(*gold(U), classes, 1.0)
    turned = U @ rotation()
    torch.testing.assert_close(ils.refine(turned, 1.0), turned)
    assert ils.penalty(turned)[0].max() < 1e-12


@pytest.mark.parametrize("classes", [2, C])
def test_gram_pulls_towards_golds_gram_matrix(classes):
    U, E = prototypes(classes=classes), prototypes(4, classes)
    ils = Gram(*gold(U), classes, 1.0)
    hard = ils.refine(E, 1e12)
    torch.testing.assert_close(hard @ hard.transpose(1, 2), U @ U.transpose(1, 2))
    assert (ils.penalty(E)[0] > 1e-3).all(), "real for two classes too"


def test_gram_finds_the_nearest_rotation():
    """Orthogonal Procrustes: no other orthonormal H^T comes nearer to E."""
    ils, E = Gram(*gold(prototypes()), C, 1.0), prototypes(4)
    best = (E - ils.rotated(E)).square().sum((1, 2))
    for seed in range(20):
        other = ils.V @ rotation(seed)[:, :C]
        assert (best <= (E - other).square().sum((1, 2))).all()


def test_gram_follows_the_encoder_and_project_does_not():
    U, later = prototypes(), prototypes(6)
    ils, fixed = Gram(*gold(U), C, 1.0), project(U)
    before = fixed.P.clone()
    ils.update(*gold(later))
    fixed.update(*gold(later))
    assert ils.penalty(later)[0].max() < 1e-12
    assert torch.equal(fixed.P, before)


@pytest.mark.parametrize(
    ("mode", "classes", "kind"),
    [
        ("project", 3, Project),
        ("project", 2, Off),  # one direction would make both prototypes parallel
        ("gram", 2, Gram),
        ("gram", 3, Gram),
        ("off", 3, Off),
    ],
)
def test_which_reading_is_active(mode, classes, kind):
    made = semantics(mode, *gold(prototypes(classes=classes)), classes, 0.95)
    assert type(made) is kind
    assert made.active == (kind is not Off)


def test_two_classes_on_one_direction_would_collapse():
    """Why `project` is off for two classes: features of one orthant end up parallel."""
    U = prototypes(classes=2).abs()
    P, rank = label_projector(U, 1.0)
    a, b = (P @ U).unbind(1)
    assert rank.tolist() == [1, 1]
    assert torch.nn.functional.cosine_similarity(a, b).min() > 1 - 1e-9


def test_off_changes_nothing():
    E = prototypes()
    assert torch.equal(Off().refine(E, 1.0), E)
