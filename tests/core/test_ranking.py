"""Ranks within classes, against a slow loop."""

import torch

from sdsl.core.ranking import rank_in_class


def test_ranks_count_the_smaller_keys_of_the_same_class():
    g = torch.Generator().manual_seed(0)
    key, y = torch.rand(3, 20, generator=g), torch.randint(0, 4, (3, 20), generator=g)
    slow = [
        [int(((y[s] == y[s, i]) & (key[s] < key[s, i])).sum()) for i in range(20)] for s in range(3)
    ]
    assert rank_in_class(key, y, 4).tolist() == slow


def test_ties_keep_their_order():
    y = torch.tensor([[0, 1, 0, 0, 1]])
    assert rank_in_class(torch.zeros(1, 5), y, 2).tolist() == [[0, 0, 1, 2, 1]]
