"""Invariant label semantics (paper Eq. 7): U ~ H^T V with the label embedding V fixed by gold.

For fixed U the best H^T V is U P, P the projector on V's row space; anchored to the empirical
prototypes E, min ||U - E||^2 + a ||U - H^T V||^2 has the closed form U = E (P + (I - P) / (1 + a)).
Prototypes are rows here: U is [S, C, m], so P acts from the left.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.subspace import energy_projector
from sdsl.core.replica import Rows


def class_means(
    f: Tensor, y: Tensor, classes: int, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(mean feature of each class [S, C, m], members of each class [S, C, 1])."""
    members = F.one_hot(y, classes).to(f.dtype)  # [S, n, C]
    if mask is not None:
        members = members * mask[:, :, None]
    size = members.sum(1)[:, :, None]
    return members.transpose(1, 2) @ f / size.clamp(min=1), size


def label_projector(U: Tensor, energy: float) -> tuple[Tensor, Tensor]:
    """(P [S, C, C] on the row space of V, its rank r [S]), from prototypes U [S, C, m].

    V holds the leading label-side singular vectors of U: as few as carry `energy` of the squared
    singular values, and at most C - 1, since r = C would make the constraint empty.
    """
    # The C x C Gram matrix has the label-side singular vectors and the squared singular values.
    gram = U.double() @ U.double().transpose(1, 2)
    P, rank = energy_projector(gram, energy, most=U.shape[1] - 1)
    return P.to(U.dtype), rank


class Project:
    """The literal reading: V from gold at t=0, constraint on the span only. Empty for two classes,
    where one direction would make both prototypes parallel."""

    def __init__(self, gold: Rows, f: Tensor, classes: int, energy: float):
        U, _ = class_means(f, gold.y, classes, gold.mask)
        self.P, self.rank = label_projector(U, energy)
        self.active = classes > 2

    def update(self, gold: Rows, f: Tensor) -> None:
        """The label embedding is invariant: nothing to do."""

    def refine(self, E: Tensor, anchor: float) -> Tensor:
        return (anchor * (self.P @ E) + E) / (1 + anchor)

    def penalty(self, U: Tensor) -> tuple[Tensor, Tensor]:
        """(R(U) = ||U - P U||^2 / (m C) [S], dR/dU = 2 (U - P U) / (m C) [S, C, m])"""
        return mean_square(U - self.P @ U)


class Gram:
    """The sound reading: prototypes keep gold's mutual angles and lengths up to a rotation
    (orthogonal Procrustes), V = S Q^T in the current encoder. Not empty for two classes."""

    def __init__(self, gold: Rows, f: Tensor, classes: int, energy: float):
        self.classes, self.active = classes, True
        self.update(gold, f)

    def update(self, gold: Rows, f: Tensor) -> None:
        """V in the encoder of now, or encoder drift would pass for semantic drift."""
        U, _ = class_means(f, gold.y, self.classes, gold.mask)  # [S, C, m]
        values, Q = torch.linalg.eigh(U.double() @ U.double().transpose(1, 2))
        self.V = (Q * values.clamp(min=0).sqrt()[:, None, :]).to(f.dtype)  # V^T = Q S, [S, C, C]

    def rotated(self, E: Tensor) -> Tensor:
        """H^T V with the orthonormal H^T = A B^T nearest to E (E V^T = A Sigma B^T). [S, C, m]"""
        A, _, B = torch.linalg.svd(E.transpose(1, 2) @ self.V, full_matrices=False)
        return self.V @ (A @ B).transpose(1, 2)

    def refine(self, E: Tensor, anchor: float) -> Tensor:
        return (E + anchor * self.rotated(E)) / (1 + anchor)

    def penalty(self, U: Tensor) -> tuple[Tensor, Tensor]:
        """(||U - H^T V||^2 / (m C), its derivative at the best H)"""
        return mean_square(U - self.rotated(U))


def mean_square(gap: Tensor) -> tuple[Tensor, Tensor]:
    return gap.square().mean((1, 2)), gap * (2 / gap[0].numel())


class Off:
    """Without ILS."""

    active = False

    def update(self, gold: Rows, f: Tensor) -> None:
        """Nothing to keep."""

    def refine(self, E: Tensor, anchor: float) -> Tensor:
        return E

    def penalty(self, U: Tensor) -> tuple[Tensor, Tensor]:
        return U.new_zeros(len(U)), torch.zeros_like(U)


Semantics = Project | Gram | Off


def is_off(mode: str, classes: int) -> bool:
    """The literal reading is empty for two classes."""
    return mode == "off" or (mode == "project" and classes < 3)


def semantics(mode: str, gold: Rows, f: Tensor, classes: int, energy: float) -> Semantics:
    """The chosen reading, fitted to gold's features f [S, g, m]."""
    if is_off(mode, classes):
        return Off()
    return (Gram if mode == "gram" else Project)(gold, f, classes, energy)
