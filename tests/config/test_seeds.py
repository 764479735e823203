"""The spellings of `seed`, and that nothing else on the line is touched."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from sdsl.config.seeds import rewrite
from sdsl.errors import UserError


@pytest.mark.parametrize(("word", "values"), [
    ("seed=3", [3]), ("seed=range(5)", [0, 1, 2, 3, 4]), ("seed=range(2,8,3)", [2, 5]),
    ("seed=0,2", [0, 2]), ("seed=choice(4,1)", [4, 1]), ("seed=[7,8]", [7, 8]),
])  # fmt: skip
def test_integers_become_one_list(word, values):
    line = ["-m", "dataset=glob(*)", word, "method=st"]
    *before, new, after = rewrite(line)
    assert (before, after) == (line[:2], "method=st")
    override = OverridesParser.create().parse_override(new)
    assert override.key_or_group == "seed.values" and not override.is_sweep_override()
    assert override.value() == values


@pytest.mark.parametrize("word", ["seed=paper", "seed=paper,one", "seed=glob(*)", "seed="])
def test_names_are_left_alone(word):
    assert rewrite([word]) == [word]


@pytest.mark.parametrize("word", [
    *("seed=1.5", "seed=paper,3", "seed=range(0,5,0)", "seed=range(1000000000)", "seed=["),
    *("seed=interval(0,1)", "seed=range(", "seed=" + "9" * 5000, "seed=" + "[" * 3000),
])  # fmt: skip
def test_a_bad_seed_is_refused_with_the_ways_to_write_it(word):
    with pytest.raises(UserError, match=r"seed=range\(5\)"):
        rewrite([word])
