"""1-NN: the label of the nearest row of the last segment, found in a plain loop."""

import torch
from made_steps import learner, step
from support import some_rows

from sdsl.config.schema import component
from sdsl.core.contract import Pseudo
from sdsl.core.rows import Rows


def test_the_nearest_of_the_newly_labelled_rows_decides():
    of, (gold, first, second) = learner(3, 4), (some_rows(30, 3, 4, seed=s) for s in range(3))
    how, x = component("replay", "nearest"), some_rows(200, 3, seed=9).X
    how.start(gold, of, of.init)
    for given, known in ((first, first), (Rows.empty(3), first), (second[:7], second[:7])):
        log = how.replay(step(gold, Rows.empty(3), x), Pseudo(None, given), of)
        nearest = [int((known.X - row).norm(dim=1).argmin()) for row in x]
        assert torch.equal(of.predict(x), known.y[nearest])
        assert log["model_numbers"] == len(known) * 4
