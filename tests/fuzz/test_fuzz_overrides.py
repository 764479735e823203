"""Any override line is run or refused in one message: nothing else comes out of the parser."""

import contextlib
import sys

import pytest
from cli import call, checked_only
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sdsl.config import seeds
from sdsl.errors import UserError

KEYS = (
    *("seed", "method", "dataset", "labeler.name", "learner.hidden", "learner.pretrain.lr"),
    *("stream.max_segments", "dataset.segment_size", "eval.every", "fuse", "tracking.uri"),
    *("seed.values", "hydra.launcher.n_jobs", "data.root", "probe", "replay.steps", "nothing"),
)
VALUES = (
    *("3", "range(5)", "0,2", "paper", "-1", "1e9", "null", "true", "[0,1]", "{a:1}", "glob(*)"),
    *("choice(0,1)", "interval(0,1)", "???", "${seed}", "${oc.env:HOME}", "''", '"x"', "st,jt"),
    *("shuffle(0,1)", "sort(3,1)", "cast", "int(2.5)", "json_str(1)", "../..", "nan", "1_000"),
)
PIECES = st.sampled_from(["=", ",", "[", "]", "{", "}", "(", ")", "~", "+", "++", "@", ":", "$"])
TEXT = st.text(max_size=12) | st.lists(PIECES | st.sampled_from(VALUES), max_size=6).map("".join)
KEY = st.sampled_from(KEYS) | TEXT
VALUE = st.sampled_from(VALUES) | TEXT | st.integers().map(str) | st.floats().map(str)
PREFIX = st.sampled_from(["", "", "", "+", "++", "~"])
WORD = st.builds("{}{}={}".format, PREFIX, KEY, VALUE) | TEXT
FLAGS = st.sampled_from([[], [], ["-m"], ["--multirun"]])


@settings(max_examples=1000)
@given(st.lists(st.builds("seed={}".format, VALUE) | WORD, max_size=4))
@example(["seed=" + "9" * 5000])
@example(["seed=range(0,1e400)"])
@example(["seed=" + "[" * 3000])
@example(["seed=choice(a,range(3))"])
def test_the_rewriting_of_seeds(line):
    with contextlib.suppress(UserError):
        again = seeds.rewrite(line)
        assert seeds.rewrite(again) == again
        seeds.split(again)


@settings(max_examples=60)
@given(FLAGS, st.lists(WORD, max_size=3))
@example([], ["learner.hidden=" + "9" * 5000])
@example([], ["learner.hidden=" + "[" * 3000])
@example([], ["dataset=\0"])
@example([], ["+x=" + "a" * 300])
def test_a_whole_command_line(line_runner, flags, words):
    # A word with a dash is a flag of Hydra's (--help, --info): the parser's own, and it exits.
    words = [word for word in words if not word.lstrip().startswith("-")]
    status, err = line_runner(*flags, *words)
    assert status in (0, 2), (words, err)
    assert "Traceback" not in err
    if status == 2:
        assert err.strip(), words


@pytest.fixture
def line_runner(here, monkeypatch, capfd):
    """(exit status, what was said) of a line whose jobs are checked but not run."""
    checked_only(monkeypatch)
    monkeypatch.setattr(sys, "stdin", None)

    def run(*words):
        capfd.readouterr()
        status = call(*words, "hydra.launcher.n_jobs=1")
        return status, capfd.readouterr().err

    return run
