"""Influence of training rows on the test loss of a logistic problem (Koh 2017; RECORD Eq. 5).

IF(x) = mean_te y_te s(-y_te th.x_te) s(-y th.x) y x_te' H^-1 x, s the logistic function: positive
means that up-weighting the training row x lowers the test loss.
"""

import torch
from torch import Tensor


def logistic(X: Tensor, y: Tensor, strength: float, rounds: int = 50) -> Tensor:
    """argmin |th|^2 / 2 + strength mean log(1 + exp(-y th.x)), by Newton's method; y is +1 or -1.

    scikit-learn's LogisticRegression(C=strength / n, fit_intercept=False), in a few small solves.
    """
    n, d = X.shape
    if n < d:  # theta = X' a: systems of n equations
        return X.T @ in_span(X, y, strength / n, rounds)
    theta = X.new_zeros(d)
    eye = torch.eye(d, dtype=X.dtype)
    for _ in range(rounds):
        s = torch.sigmoid(-y * (X @ theta))
        grad = theta - strength * (X.T @ (s * y)) / n
        if grad.abs().max() < 1e-8:  # RECORD's tolerance
            break
        hessian = eye + strength * (X.T @ ((s * (1 - s))[:, None] * X)) / n
        theta = theta - torch.linalg.solve(hessian, grad)
    return theta


def in_span(X: Tensor, y: Tensor, c: float, rounds: int) -> Tensor:
    """a [n] of the same steps with theta = X' a, c = strength / n, for fewer rows than features.

    The gradient is X' r, and (I + X' D X)^-1 X' r = X' (I + D K)^-1 r with K = X X'.
    """
    a, K = X.new_zeros(len(y)), X @ X.T
    eye = torch.eye(len(y), dtype=X.dtype)
    for _ in range(rounds):
        s = torch.sigmoid(-y * (K @ a))
        r = a - c * s * y
        if (X.T @ r).abs().max() < 1e-8:
            break
        a = a - torch.linalg.solve(eye + (c * s * (1 - s))[:, None] * K, r)
    return a


def influence(
    theta: Tensor, X: Tensor, y: Tensor, X_te: Tensor, y_te: Tensor, code_parity: bool = False
) -> Tensor:
    """IF of every training row [n], with H = mean s(u) s(-u) x x', u = th.x, its ridge left out."""
    u = X @ theta
    # The test loss falls fastest along g.
    g = X_te.T @ (y_te * torch.sigmoid(-y_te * (X_te @ theta))) / len(y_te)  # [d]
    # pinv(H) g from the thin SVD of H's root: also sound with fewer rows than features.
    root = (torch.sigmoid(u) * torch.sigmoid(-u) / len(u)).sqrt()[:, None] * X  # root' root = H
    _, sv, V = torch.linalg.svd(root, full_matrices=False)
    keep = sv > sv.max() * max(root.shape) * torch.finfo(sv.dtype).eps
    V, sv = V[keep], sv[keep]
    z = V.T @ ((V @ g) / sv**2)  # [d]
    # The released code has s(+y th.x) here, which ranks rows that are already fitted first.
    factor = torch.sigmoid((1 if code_parity else -1) * y * u)
    return factor * y * (X @ z)
