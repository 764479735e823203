"""Settings are strict: what is kept as it is, and what is refused."""

from typing import Literal

import pytest
from pydantic import ValidationError

from sdsl.core.contract import Labeler
from sdsl.core.settings import Count, Positive, Share, Weight, settings
from sdsl.core.training import Training


@settings
class Made(Labeler):
    count: Count
    positive: Positive
    share: Share
    weight: Weight
    choice: Literal["a", "b"]
    numbers: list[int]
    switch: bool
    fit: Training | None


GOOD = {"count": 0, "positive": 1, "share": 1.0, "weight": 2.5, "choice": "a", "numbers": [1, 2]}
GOOD |= {"switch": False, "fit": None}


def test_good_settings_are_kept_and_the_state_is_all_else():
    made = Made(**GOOD)
    assert {name: getattr(made, name) for name in GOOD} == GOOD and made.state() == {}
    made.memory = [1, 2]
    other = Made(*GOOD.values())
    other.restore(made.state(), None, None)
    assert other.state() == {"memory": [1, 2]}
    assert Made(**GOOD | {"share": 1, "weight": 3}).weight == 3.0  # an integer is a number


@pytest.mark.parametrize(("name", "value"), [
    ("count", -1), ("count", 1.0), ("count", "1"), ("count", True), ("count", None),
    ("positive", 0), ("share", 1.01), ("share", -0.1), ("share", float("nan")),
    ("weight", -1.0), ("weight", float("inf")), ("weight", "1"), ("weight", True),
    ("choice", "c"), ("choice", 1), ("numbers", (1, 2)), ("numbers", [1.5]), ("numbers", 1),
    ("switch", 1), ("switch", "false"), ("fit", {"steps": 1}), ("unknown", 1),
])  # fmt: skip
def test_a_bad_value_is_refused_by_the_name_of_its_field(name, value):
    with pytest.raises(ValidationError) as error:
        Made(**GOOD | {name: value})
    assert error.value.errors()[0]["loc"][0] == name
