"""The subspace that carries most of the energy: P = V V^T with V the leading eigenvectors.

As few eigenvectors of a Gram matrix as hold `energy` of the sum of its eigenvalues, at most `most`.
Held in part, P = V diag(max(c, 1 - w / l)) V^T: with I - P a step along an eigenvector, whose rows
have the mean square l, is at most what it would be at l = w, that of w standardised inputs. Free of
it, a layer whose inputs have grown is thrown about by its own steps.
"""

import torch
from torch import Tensor


def energy_projector(gram: Tensor, energy: float, most: int) -> tuple[Tensor, Tensor]:
    """(P [B, w, w], its rank [B]) from Gram matrices [B, w, w]."""
    vectors, rank, _ = leading(gram, energy, most)
    V = vectors * (torch.arange(gram.shape[1]) < rank[:, None])[:, None, :]
    return V @ V.transpose(1, 2), rank


def leading(gram: Tensor, energy: float, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """(all eigenvectors, leading columns first [B, w, w], how many it takes [B], eigenvalues).

    The Gram matrix of representations has their right singular vectors and squared singular values.
    """
    values, vectors = eigh(gram)
    values, vectors = values.flip(1).clamp(min=0), vectors.flip(2)
    share = values.cumsum(1) / values.sum(1, keepdim=True).clamp(min=1e-30)
    return vectors, ((share < energy).sum(1) + 1).clamp(max=most), values


def held_part(values: Tensor, c: Tensor) -> Tensor:
    """max(c, 1 - w / l): [B, w] from eigenvalues l [B, w] of mean squares and c [B]."""
    width = values.shape[1]
    return torch.maximum(c[:, None], 1 - width / values.clamp(min=width))


def eigh(gram: Tensor) -> tuple[Tensor, Tensor]:
    """torch's, but for a matrix on which single precision fails: it gives NaN or an error."""
    try:
        values, vectors = torch.linalg.eigh(gram)
    except torch.linalg.LinAlgError:
        if len(gram) > 1:  # the others keep their bits
            each = [eigh(g) for g in gram.split(1)]
            return torch.cat([v for v, _ in each]), torch.cat([V for _, V in each])
        values, vectors = gram.new_full(gram.shape[:2], torch.nan), gram.clone()
    whole = values.isfinite().all(1) & vectors.isfinite().flatten(1).all(1)
    for b in whole.logical_not().nonzero().flatten():
        again = torch.linalg.eigh(gram[b].double())
        values[b], vectors[b] = again[0].to(gram.dtype), again[1].to(gram.dtype)
    return values, vectors
