"""Flatness (paper section 4.5): Acc_T of the final model under noise U[0, b] on every parameter.

A wider range of b without loss is a flatter region; U[-b, b] is measured beside it.
"""

import numpy as np
import torch

from sdsl.core.contract import Measured, Probe
from sdsl.core.draws import Draws
from sdsl.core.engine import Outcome
from sdsl.core.network import scores
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, Weight, settings
from sdsl.core.stream import Stream


@settings
class Flatness(Probe):
    bounds: list[Weight]
    noise_draws: Positive
    rows: Positive  # test rows, evenly spread over the segments

    def measure(self, stream: Stream, outcome: Outcome) -> Measured:
        if outcome.learner.classifier is not None:
            return {}  # 1-NN has no parameters to add noise to
        rows = Rows.cat(*stream.tests())
        rows = rows[torch.linspace(0, len(rows) - 1, min(self.rows, len(rows))).round().long()]
        X, y = outcome.scaler(rows.X), rows.y
        draws, theta = Draws(stream.seed, "probe"), outcome.learner.theta
        unit = [draws.uniform(self.noise_draws, *p.shape) for p in theta]  # [draws, in + 1, out]

        def accuracy(low: float, b: float) -> float:
            """Mean over the draws of theta + b U[low, 1]."""
            found = []
            for u in zip(*unit, strict=True):
                noisy = [p + b * (low + (1 - low) * e) for p, e in zip(theta, u, strict=True)]
                found.append((scores(X, noisy).argmax(1) == y).double().mean())
            return float(torch.stack(found).mean())

        kinds = {"flatness_one_sided": 0.0, "flatness_symmetric": -1.0}
        return {
            name: np.array([accuracy(low, b) for b in self.bounds]) for name, low in kinds.items()
        }
