"""Fits the stand-in for UG_2C_3D: python -m sdsl.datasets.fit_stand_in

The original could not be had, but SCARGC's predictions on it were published. The stand-in has the
form of the archive's other streams: one Gaussian per class, moving linearly between keyframes at
every fifth of the stream. It is fitted so that SCARGC's accuracy in each twentieth of the stream is
the published one. SCARGC is close to the rule of the nearest mean, whose accuracy has a formula:
Phi(w'w / 2 sqrt(w' Sigma_c w)) for class c, with w = m_2 - m_1. Many paths have that curve; of them
it takes the one nearest to MEAN and VAR.
"""

import json
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from scipy.special import ndtr

from sdsl.datasets.fit_keyframes import KEYFRAMES, write
from sdsl.datasets.keyframes import Keyframes, Mode, basis

# Accuracy of SCARGC on the original in each twentieth of the stream, in percent.
PUBLISHED = [100, 100, 99.9, 99.4, 96.0, 86.4, 83.2, 94.0, 95.1, 89.8]
PUBLISHED += [92.8, 97.7, 99.1, 99.0, 99.0, 98.9, 97.3, 92.9, 87.9, 87.2]
# A path of our own, [classes, keyframes, d]: the classes approach, pass, swap places and part.
MEAN = [
    [[2, 3, 2], [4, 4, 3], [6, 5, 5], [8, 6, 7], [7, 7, 8], [6, 8, 8]],
    [[8, 7, 8], [6, 8, 6], [4, 7, 3], [2, 5, 2], [3, 3, 3], [4, 2, 4]],
]
VAR = [
    [[1, 2, 2], [2, 2, 3], [2, 2, 2], [3, 2, 3], [3, 3, 2], [2, 3, 2]],
    [[2, 1, 2], [2, 2, 3], [3, 2, 2], [3, 3, 2], [2, 3, 3], [2, 2, 3]],
]
FILE = Path(__file__).parent / "keyframes" / "ug_2c_3d.json"
SEGMENTS = 100
LOWEST, HIGHEST = 1.0, 9.0  # of a mean, as in the other streams
NEAR_MEAN, NEAR_VAR, INSIDE = 0.03, 0.3, 5.0  # weights, where a point of accuracy has weight 1


def accuracy(mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    """[20] percent: the rule of the nearest mean, per twentieth; segment 0 is gold and not scored.

    `mean` and `var` [2, keyframes, d].
    """
    blend = basis(KEYFRAMES, 0, SEGMENTS)  # [segments, keyframes]
    m, v = (np.einsum("sk,ckd->csd", blend, table) for table in (mean, var))
    w = m[1] - m[0]  # [segments, d]
    by_class = ndtr((w**2).sum(-1) / (2 * np.sqrt((v * w**2).sum(-1))))  # [2, segments]
    scored = by_class.mean(axis=0)
    scored[0] = np.nan
    return 100 * np.nanmean(scored.reshape(20, -1), axis=1)


def fit() -> tuple[np.ndarray, np.ndarray]:
    """Means and variances [2, keyframes, d], rounded to a tenth."""
    mean, var = np.array(MEAN, float), np.array(VAR, float)

    def unpacked(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m, log = x.reshape(2, *mean.shape)
        return m, np.exp(log)

    def off(x: np.ndarray) -> np.ndarray:
        m, v = unpacked(x)
        outside = np.maximum(0, m - HIGHEST) + np.maximum(0, LOWEST - m)
        near = NEAR_MEAN * (m - mean), NEAR_VAR * np.log(v / var), INSIDE * outside
        return np.concatenate([accuracy(m, v) - PUBLISHED, *(part.ravel() for part in near)])

    found = least_squares(off, np.concatenate([mean.ravel(), np.log(var).ravel()]))
    m, v = unpacked(found.x)
    return np.round(m, 1), np.round(v, 1)


def main() -> None:
    mean, var = fit()
    modes = {
        str(c + 1): [Mode(m.tolist(), v.tolist())]
        for c, (m, v) in enumerate(zip(mean, var, strict=True))
    }
    table = Keyframes(2000, SEGMENTS, 0, KEYFRAMES, modes)
    write(table, {"stand_in_for": "UG_2C_3D, by SCARGC's published curve"}, FILE)
    print(json.dumps(np.round(accuracy(mean, var), 1).tolist()))


if __name__ == "__main__":
    main()
