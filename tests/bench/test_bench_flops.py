"""sdsl.bench flops: products are counted one by one, those of autograd too."""

import torch

from sdsl.bench import flops


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
    ((left, right),) = counting.products
    assert left == ((2, 4, 3), (12, 1, 4)) and right == ((2, 3, 5), (15, 5, 1))
    assert flops.seconds_of_one(left, right) > 0


def test_a_method_is_set_against_its_products(tmp_path):
    (row,) = flops.measure(True, tmp_path)
    one = row.raw["twonorm"]
    assert one["flop"] > 0 and one["seconds"] > 0 and one["share"] > 0
    assert (
        "twonorm: " in row.found and "Gflop" in row.found and row.target == "60 % on every stream"
    )
