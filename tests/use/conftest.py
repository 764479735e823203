"""Short methods and made-up streams for the tests of use."""

import logging

import numpy as np
import pytest
import support

from sdsl.config.registry import find
from sdsl.core.contract import Labeler
from sdsl.estimator import StreamClassifier

NAMES = np.array(["ant", "bee", "cow", "dog"])


def leaves(section: dict, before: str = "") -> dict:
    """Dotted name -> value."""
    found = {}
    for key, value in section.items():
        if isinstance(value, dict):
            found |= leaves(value, f"{before}{key}.")
        else:
            found[before + key] = value
    return found


def short(method: str) -> dict:
    """Overrides that cut every phase of a method's training short."""
    whole = leaves(support.config(f"method={method}"))
    brief = leaves(support.brief(support.config(f"method={method}")))
    keys = [k for k in whole if brief[k] != whole[k]]
    return {k: brief[k] for k in keys if k.startswith(("labeler", "replay", "learner", "lookback"))}


def blind_methods() -> list[str]:
    """Methods that need no true labels."""
    names = {m: support.config(f"method={m}")["labeler"]["name"] for m in support.METHODS}
    return [m for m, name in names.items() if not find("labeler", name, Labeler).privileged]


def pytest_generate_tests(metafunc):
    if "blind_method" in metafunc.fixturenames:
        metafunc.parametrize("blind_method", blind_methods())


@pytest.fixture
def quick():
    """quick("ours", seed=1): a StreamClassifier that trains for a moment only."""
    return lambda method="ours", **more: StreamClassifier(method, overrides=short(method), **more)


@pytest.fixture
def turning():
    """Segments (X, names) of 60 rows, three classes that turn slowly; the first is gold."""
    table = support.blobs(rows=540, classes=3, d=4, drift=1.0)
    return [(table.X[i : i + 60], NAMES[table.y[i : i + 60]]) for i in range(0, 540, 60)]


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("sdsl.use").setLevel(logging.ERROR)
    yield
    logging.getLogger("sdsl.use").setLevel(logging.NOTSET)
