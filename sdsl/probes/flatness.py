"""Flatness (paper section 4.5): Acc_T of the final model under noise U[0, b] on every parameter.

A wider range of b without loss is a flatter region; U[-b, b] is measured beside it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.core.engine import Outcome
from sdsl.core.fields import number, setting
from sdsl.core.network import scores
from sdsl.core.probe import Probe
from sdsl.core.replica import Draws
from sdsl.core.stream import Stream


@dataclass
class Flatness(Probe):
    bounds: list[float] = setting()
    noise_draws: int = number(low=1)
    rows: int = number(low=1)  # test rows, evenly spread over the segments

    @torch.no_grad()
    def measure(self, stream: Stream, outcome: Outcome) -> dict[str, np.ndarray]:
        if outcome.learner.classifier is not None:
            return {}  # 1-NN has no parameters to shake
        X, y = stream.tests()
        X, y = X.flatten(1, 2), y.flatten(1, 2)
        spread = torch.linspace(0, X.shape[1] - 1, min(self.rows, X.shape[1])).round().long()
        X, y = outcome.scaler(X[:, spread]), y[:, spread]
        noise = [p.shape[1:] for p in outcome.learner.theta]
        draws = Draws(stream.seeds, "probe")
        unit = [
            draws.uniform(self.noise_draws, *shape) for shape in noise
        ]  # [S, draws, in + 1, out]
        curves = {}
        for name, low in (("flatness_one_sided", 0.0), ("flatness_symmetric", -1.0)):
            shaken = [[low + (1 - low) * u[s] for u in unit] for s in range(len(X))]
            curves[name] = np.array(
                [
                    [
                        accuracy([p[s] for p in outcome.learner.theta], shaken[s], b, X[s], y[s])
                        for b in self.bounds
                    ]
                    for s in range(len(X))
                ]
            )
        return curves


def accuracy(theta: list[Tensor], unit: list[Tensor], b: float, X: Tensor, y: Tensor) -> float:
    """Mean accuracy over the draws of theta + b * unit: the draws take the replica axis' place."""
    shaken = [p + b * u for p, u in zip(theta, unit, strict=True)]  # [draws, in + 1, out]
    if b == 0:
        shaken = [p[:1] for p in shaken]
    logits = scores(X.expand(len(shaken[0]), -1, -1), shaken)
    return float((logits.argmax(2) == y).double().mean())
