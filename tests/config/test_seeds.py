"""The spellings of `seed`, and that nothing else on the line is touched."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from sdsl.config.seeds import rewrite, split
from sdsl.errors import UserError


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("seed=3", [3]),
        ("seed=17", [17]),
        ("seed=range(5)", [0, 1, 2, 3, 4]),
        ("seed=range(2,8,3)", [2, 5]),
        ("seed=0,2", [0, 2]),
        ("seed=choice(4,1)", [4, 1]),
        ("seed=[7,8]", [7, 8]),
        ("seed=-1", [-1]),  # for the check of the config to refuse, with the other bad values
    ],
)
def test_integers_become_one_list(word, values):
    (new,) = rewrite([word])
    override = OverridesParser.create().parse_override(new)
    assert override.key_or_group == "seed.values"
    assert not override.is_sweep_override()
    assert override.value() == values


@pytest.mark.parametrize(
    "word",
    ["seed=paper", "seed=paper,one", "seed=glob(*)", "dataset=glob(*)", "method=st", "seed="],
)
def test_names_are_left_alone(word):
    assert rewrite([word]) == [word]


@pytest.mark.parametrize(
    "word",
    [
        "seed=1.5",
        "seed=paper,3",
        "seed=range(0,5,0)",
        "seed=range(1000000000)",
        "seed=interval(0,1)",
        "seed=true",
        "seed=[",
        "seed=range(",
    ],
)
def test_a_bad_seed_is_refused_with_the_ways_to_write_it(word):
    with pytest.raises(UserError, match=r"seed=range\(5\)"):
        rewrite([word])


def test_one_job_a_seed():
    assert split(rewrite(["method=st", "seed=range(3)"])) == [
        "method=st",
        "seed.values=[0],[1],[2]",
    ]
    assert split(["seed.values=[0],[1]", "seed=paper"]) == ["seed.values=[0],[1]", "seed=paper"]


def test_the_multirun_flag_may_stand_anywhere():
    assert rewrite(["method=st", "-m", "seed=1"]) == ["-m", "method=st", "seed.values=[1]"]


def test_no_pickle_is_loaded():
    with pytest.raises(UserError, match="pickle"):
        rewrite(["--experimental-rerun", "config.pickle"])
