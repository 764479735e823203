"""Every mistake against every slot of the contract: one sentence that names the component."""

from dataclasses import replace
from typing import Any

import made_up
import numpy as np
import pytest
import torch
from made_up import DATA, SIZE, TEST, Act, Predict, adaptation

from sdsl.core.checks import measure
from sdsl.core.contract import Probe, Pseudo
from sdsl.core.rows import Rows
from sdsl.errors import ComponentError, UserError

N, D, C = SIZE - TEST, 4, 3


def sound(step) -> Pseudo:
    y = torch.zeros(N, dtype=torch.long)
    return Pseudo(y, Rows(step.X, y))


def with_nan(X):
    return torch.where(torch.arange(len(X))[:, None] == 3, torch.nan, X)


def after(act):
    """A labeler that does something first."""
    return lambda step, learner: (act(step, learner), sound(step))[1]


Y, P = torch.zeros(N, dtype=torch.long), torch.full((N, C), 1 / C)
LABELERS: dict[str, tuple[Any, str]] = {
    "None": (lambda s, _: None, r"returned None; it must return Pseudo\(y, Rows\(X, y\), log\)"),
    "a bare tensor": (lambda s, _: Y, r"a tensor int64 \[19\]; it must return Pseudo"),
    "a tuple": (lambda s, _: (Y, Rows(s.X, Y)), "returned the tuple"),
    "rows as a tensor": (lambda s, _: Pseudo(Y, s.X), "must return Pseudo"),
    "rows missing": (lambda s, _: Pseudo(Y, None), "must return Pseudo"),
    **{
        f"y {name}": (lambda s, _, y=y: replace(sound(s), y=y), rf"returned y {says}")
        for name, y, says in (
            ("too large", Y + 99, "with labels 99 to 99; it must return labels 0 to 2"),
            ("negative", Y - 1, "with labels -1 to -1"),
            (
                "one short",
                Y[1:],
                r"= a tensor int64 \[18\]; it must return y as a tensor int64 \[19",
            ),
            ("of two axes", Y[:, None], r"= a tensor int64 \[19, 1\]"),
            ("of floats", Y.float(), r"= a tensor float32 \[19\]"),
            ("of NumPy", Y.numpy(), r"= a NumPy array int64 \[19\]"),
            ("a list", Y.tolist(), "= the list"),
        )
    },
    **{
        f"rows.y {name}": (lambda s, _, y=y: Pseudo(None, Rows(s.X, y)), rf"rows.y {says}")
        for name, y, says in (
            ("too large", Y + 3, "with labels 3 to 3"),
            ("one short", Y[1:], r"= a tensor int64 \[18\]"),
            ("missing", None, "= None"),
            ("of floats", Y.float(), r"= a tensor float32 \[19\]"),
        )
    },
    **{
        f"rows.X {name}": (lambda s, _, f=f: Pseudo(None, Rows(f(s.X), Y)), rf"rows.X {says}")
        for name, f, says in (
            ("NaN", with_nan, "with NaN or infinity"),
            ("infinite", lambda X: X / 0, "with NaN or infinity"),
            ("narrow", lambda X: X[:, 1:], r"= a tensor float32 \[19, 3\].* float32 \[any, 4\]"),
            ("double", lambda X: X.double(), r"= a tensor float64 \[19, 4\]"),
            ("of NumPy", lambda X: X.numpy(), r"= a NumPy array float32 \[19, 4\]"),
            ("learnt", lambda X: X.clone().requires_grad_(), r"= .* with a gradient \(use .detach"),
        )
    },
    "rows of elsewhere": (
        lambda s, _: Pseudo(None, Rows(s.X + 1, Y)),
        "other rows than .* long_mem",
    ),
    **{
        f"p {name}": (lambda s, _, p=p: replace(sound(s), p=p), rf"returned p {says}")
        for name, p, says in (
            ("narrow", P[:, 1:], r"= a tensor float32 \[19, 2\]; .* \[19, 3\]"),
            ("NaN", with_nan(P), "with NaN"),
            ("of NumPy", P.numpy(), "= a NumPy array"),
        )
    },
    "parameters of another shape": (
        after(lambda _, learner: learner.theta.__setitem__(0, torch.zeros(2, 6))),
        r"left parameters torch.float32 \[2, 6\]",
    ),
    "X in place": (after(lambda s, _: s.X.add_(1)), "left its input changed"),
    "X by NumPy": (
        after(lambda s, _: s.X.numpy().fill(1)),
        r"left its input changed \(a tensor float32 \[19, 4\]\): .* \.clone",
    ),
    "gold in place": (after(lambda s, _: s.gold.y.zero_()), "left its input changed"),
    "a bug": (lambda s, _: s.nothing, r"raised AttributeError .*line \d+\): .* 'nothing'"),
}
LOGS = {"text": {"a": "b"}, "a shape": {"a": torch.ones(2)}, "NaN": {"a": np.nan}, "a key": {1: 2}}
LOGS |= {"a list": ["a"], "a tensor": torch.ones(2), "None": {"a": None}}


@pytest.mark.parametrize("kind", LABELERS)
def test_a_labeler(kind):
    act, says = LABELERS[kind]
    with pytest.raises(UserError, match=rf"^Predict(\.label \(.*made_up\.py\))? .*{says}") as told:
        going = adaptation(made_up.stream(), labeler=Predict(act))
        going.step(made_up.stream().segment(1))
    assert "\n" not in str(told.value) and "learning rate" not in str(told.value)


@pytest.mark.parametrize("kind", LOGS)
def test_a_log(kind):
    labeler = Predict(lambda step, _: replace(sound(step), log=LOGS[kind]))
    for parts in ((labeler, Act()), (None, Act(lambda step, _: LOGS[kind]))):
        with pytest.raises(ComponentError, match=r"made_up.py\) returned log.*finite numbers by"):
            made_up.run(*parts)


def test_a_replay_and_an_own_classifier():
    for says, act in {
        r"^Act.replay .* left its input changed": lambda s, _: {"a": float(s.X.add_(1).sum())},
        r"^function .* labels = a tensor float32 \[": lambda _, learner: setattr(
            learner, "classifier", lambda x: x[:, 0]
        ),
        r"^function .* with labels 9 to 9": lambda _, learner: setattr(
            learner, "classifier", lambda x: torch.full((len(x),), 9)
        ),
        r"^Act raised ValueError in .*: cannot fit to labels 7 to 7 of 3": lambda s, learner: (
            learner.fit(made_up.support.training(), [Rows(s.X, Y + 7)], s.draws)
        ),
    }.items():
        with pytest.raises(ComponentError, match=says):
            made_up.run(None, Act(act))


@pytest.mark.parametrize(
    "found", ["text", None, 1.0, {"a": "b"}, {"a": np.nan}, {1: 2.0}, {"a": [["b"]]}, {"a": DATA.X}]
)
def test_a_probe(found):
    class Odd(Probe):
        def measure(self, *given):
            return found

    with pytest.raises(
        ComponentError, match=r"^Odd.measure \(.*test_checks.py\) returned .* curves"
    ):
        measure(Odd())
    found = {"number": np.float32(2), "whole": 3, "curve": [1, 2.5], "of torch": torch.ones(2)}
    made = measure(Odd())
    assert [type(value) for value in made.values()] == [float, float, np.ndarray, np.ndarray]
    assert made["curve"].tolist() == [1, 2.5]
