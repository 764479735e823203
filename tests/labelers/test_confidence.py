"""PL-Conf and the oracle: which rows are given on, with which labels."""

import pytest
import support
import torch
from made_steps import Fixed, learner, step

from sdsl.config.schema import component
from sdsl.core.rows import Rows


def choose(X, **settings):
    now = step(Rows.empty(1), Rows.empty(1), torch.tensor(X)[:, None])
    made = component("labeler", "confidence", fit={"steps": 0}, **settings)
    return made.label(now, Fixed((1, 2), now.draws))


SURE = [0.9, -0.6, 0.8, 0.95, -0.7, 0.55]


@pytest.mark.parametrize(("X", "settings", "kept"), [
    (SURE, {"size": 3}, [0.95, 0.9, 0.8]),  # the literal reading: they can be of one class
    (SURE, {"size": 4, "balanced": True}, [0.95, 0.9, -0.7, -0.6]),
    ([0.9, 0.8, 0.7, -0.6], {"size": 4, "balanced": True}, [0.9, 0.8, -0.6]),  # one is short
    (SURE, {"size": 100}, [0.95, 0.9, 0.8, -0.7, -0.6, 0.55]),
])  # fmt: skip
def test_the_surest_rows(X, settings, kept):
    pseudo = choose(X, **settings)
    assert pseudo.rows.X[:, 0].tolist() == pytest.approx(kept)
    assert pseudo.rows.y.tolist() == [int(x > 0) for x in kept]
    assert pseudo.y.tolist() == [int(x > 0) for x in X]
    assert pseudo.log["least_confidence"] == pytest.approx(min(map(abs, kept)))


def test_the_oracle_gives_all_segments_so_far_or_the_last():
    X, y = [support.some_rows(6, seed=s).X for s in (1, 2)], torch.tensor([0, 1, 2, 0, 1, 2])
    oracle, of = component("labeler", "oracle"), learner(2, 3)
    oracle.start(Rows.empty(2), of, of.init)
    for rows in X:
        now = step(Rows.empty(2), Rows.empty(2), rows, truth=y)
        pseudo = oracle.label(now, of)
        assert torch.equal(pseudo.y, y)
    assert torch.equal(pseudo.rows.X, torch.cat(X)) and pseudo.log["memory_numbers"] == 12 * 3
    alone = component("labeler", "oracle", keep_all=False).label(now, of)
    assert torch.equal(alone.rows.X, X[1]) and not alone.log
