"""1-NN: agrees with scikit-learn, moves R's rows, leaves other methods' predict alone."""

import numpy as np
import support
import torch
from sklearn.neighbors import KNeighborsClassifier

from sdsl.core.replica import Rows
from sdsl.replays.nearest import OneNearest


def test_agrees_with_scikit_learn_on_ragged_sets():
    g = torch.Generator().manual_seed(0)
    X, y = torch.randn(2, 90, 3, generator=g), torch.randint(0, 4, (2, 90), generator=g)
    rows = Rows(X, y, torch.tensor([90, 40]))
    x = torch.randn(2, 600, 3, generator=g)
    found = OneNearest(rows, 4)(x)
    for s in range(2):
        plain = KNeighborsClassifier(1).fit(*(a.numpy() for a in rows.replica(s)))
        assert np.array_equal(found[s].numpy(), plain.predict(x[s].numpy()))


def test_every_step_has_its_own_row_of_R():
    out = support.run("method=scargc", seeds=(10,), data=support.blobs(drift=3.0)).outcome
    assert not np.array_equal(out.R[0, 1], out.R[0, -1])
