"""Memory as replay uses it: learns each labelled segment, and gives samples of the past back."""

from collections.abc import Sequence

import torch

from sdsl.algorithms.gold_folds import best_parts
from sdsl.algorithms.memory import size
from sdsl.algorithms.past import Past, clusters_of, sample
from sdsl.algorithms.present import MixturePresent, Present, fit
from sdsl.algorithms.whitening import Whitening
from sdsl.core.replica import Draws, Rows


class Rehearsal:
    """Clusters of S replicas, and the mixtures of the newest rows that they are made of."""

    def __init__(self, gold: Rows, classes: int, rows: float):
        """rows: memory holds no more numbers than so many rows with labels."""
        S, _, d = gold.X.shape
        self.classes = classes
        found = [best_parts(*gold.replica(s), classes) for s in range(S)]
        self.parts = [parts for parts, _ in found]
        self.out_of_fold = [labels for _, labels in found]  # gold's labels by such mixtures
        self.past = Past.none(S, d, size(d, rows))
        self.newest = [fit(*gold.replica(s), classes, self.parts[s]) for s in range(S)]
        self.gold: Rows | None = None  # that whitens now
        self.remember(gold, gold, self.newest, 0)

    def fit(self, rows: Rows, s: int) -> MixturePresent:
        """The mixture of replica s's newly labelled rows; where there are none, the last stays."""
        X, y = rows.replica(s)
        if len(y):
            self.newest[s] = fit(X, y, self.classes, self.parts[s])
        return self.newest[s]

    def remember(self, gold: Rows, rows: Rows, presents: Sequence[Present], t: int) -> None:
        """Adds what the rows of segment t show, split as the components of `presents` split them.

        gold as it is scaled now: memory lives in the space that gold whitens.
        """
        if gold is not self.gold:
            self.gold = gold
            self.whitening = [Whitening.fit(*gold.replica(s)) for s in range(len(presents))]
        new = []
        for s, present in enumerate(presents):
            X, y = rows.replica(s)
            new.append(clusters_of(present, X.double(), y, self.whitening[s](X), t))
        self.past = self.past.learn(new)

    def samples(self, n: int, like: Rows, draws: Draws) -> Rows:
        """n scaled rows of all times per replica, none further out than gold and the rows `like`.

        A rare word, drawn as a Gaussian, would be.
        """
        parts = []
        assert self.gold is not None
        for s, generator in enumerate(draws.generators):
            Z, y = sample(self.past.clusters(s), n, generator)
            seen = torch.cat([self.gold.replica(s)[0], like.replica(s)[0]])
            most = float(seen.abs().max())
            parts.append((self.whitening[s].undo(Z).float().clamp(-most, most), y))
        return Rows.ragged(parts)
