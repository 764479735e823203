"""When a phase of training ends, and which rows its batches are drawn from."""

import pytest
import support
import torch

from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.errors import UserError


@pytest.mark.parametrize(("losses", "ends"), [
    ([1, 0.9, 0.85, 0.84], [5, 10, 15]),  # the third block gains .01
    ([1, 1.2], [5]), ([1, float("nan")], [5]),
    ([9, 8, 7, 6, 5], [5, 10, 15, 18]),  # at most 18 steps
])  # fmt: skip
def test_a_phase_ends_where_the_loss_falls_by_less_than_the_tolerance(losses, ends):
    how = support.training(until="settled", steps=18, block=5, tolerance=0.04)
    loss = iter(losses)
    assert [block.stop for block in how.blocks(lambda: next(loss))] == ends


def test_a_phase_of_so_many_steps_is_one_block_and_asks_for_no_loss():
    assert list(support.training(steps=7, block=5).blocks(lambda: 1 / 0)) == [range(7)]


def test_blocks_are_one_phase_for_momentum_adam_and_the_mean_teacher():
    """With full batches, five blocks of 4 steps end where 20 steps do."""
    rows = support.some_rows(30)
    for more in ({}, {"optimizer": "adam"}, {"consistency": 1.0, "noise": 0.0}):
        ends = []
        for until in ({"until": "steps"}, {"until": "settled", "block": 4, "tolerance": 0.0}):
            learner = Learner((2, 5, 3), Draws(0, "init"))
            how = support.training(**{"steps": 20, "batch": 0, "lr": 0.01} | until | more)
            taken = learner.fit(how, [rows], Draws(0, "batches"), unlabelled=rows.X)
            assert taken.steps == 20
            ends.append(learner.theta)
        torch.testing.assert_close(*ends)


def test_a_union_draws_every_row_alike_and_sets_weigh_the_same():
    few, many = support.some_rows(5), Rows(torch.ones(95, 2), torch.zeros(95).long())
    (union,), _ = support.training(union=True).gathered([few, many])
    assert len(union) == 100
    sets, weights = support.training(union=False).gathered([few, many], [0.3, 2.0])
    assert [len(rows) for rows in sets] == [5, 95] and weights == [0.3, 2.0]
    with pytest.raises(UserError, match="set union=false"):
        support.training(union=True).gathered([few, many], [0.3, 2.0])
