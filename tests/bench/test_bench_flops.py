"""sdsl.bench flops: products are counted one by one, those of autograd too."""

import support
import torch

from sdsl.bench import flops
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows


def test_operations_of_known_products_are_counted():
    h, W = torch.ones(5, 64, 10), torch.ones(5, 10, 7, requires_grad=True)
    with flops.Counting() as counting:
        product = torch.bmm(h, W)
    assert flops.operations(counting.products) == 2 * 5 * 64 * 10 * 7
    with counting:
        product.sum().backward()  # d/dW alone: h needs none
    assert flops.operations(counting.products) == 2 * 2 * 5 * 64 * 10 * 7
    with flops.Counting() as counting:
        torch.mm(torch.ones(3, 4), torch.ones(4, 2))
    assert flops.operations(counting.products) == 2 * 3 * 4 * 2


def test_a_layer_that_is_seen_transposed_is_timed_so():
    with flops.Counting() as counting:
        torch.bmm(torch.ones(2, 3, 4).mT, torch.ones(2, 3, 5))
    (one,) = counting.products
    assert (one.left, one.right) == ((2, 4, 3), (2, 3, 5))
    assert one.strides == ((12, 1, 4), (15, 5, 1))
    assert flops.seconds_of_one(one) > 0


def test_compiled_loops_tell_of_their_products():
    """Two steps of a mean-teacher fit on 4 of 9 rows: an update and the teacher's outputs each."""
    learner, X = Learner((3, 5, 2), (0,)), torch.zeros(1, 9, 3)
    rows, counting = Rows.full(X, torch.zeros(1, 9).long()), flops.Counting()
    how = support.training(steps=2, batch=4, consistency=1.0)
    with flops.noted(counting):
        learner.fit(how, [rows], Draws((0,), "b"))
        assert not counting.products  # it was not on
        with counting:
            learner.fit(how, [rows], Draws((0,), "b"))
    forward, weights, slopes = 4 * (3 * 5 + 5 * 2), 4 * (3 * 5 + 5 * 2), 4 * 2 * 5
    assert flops.operations(counting.products) == 2 * 2 * (2 * forward + weights + slopes)
    assert all(flops.seconds_of_one(one) > 0 for one in counting.products)


def test_a_method_is_set_against_its_products(tmp_path):
    (row,) = flops.measure(True, tmp_path)
    one = row.raw["twonorm"]
    assert one["flop"] > 0 and one["seconds"] > 0 and one["share"] > 0
    assert (
        "twonorm: " in row.found and "Gflop" in row.found and row.target == "60 % on every stream"
    )
