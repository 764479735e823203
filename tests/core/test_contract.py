"""Every mistake against every slot of the contract: one sentence that names the component."""

from dataclasses import replace

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
SLOTS = {
    "y": lambda s, y: replace(sound(s), y=y),
    "rows.y": lambda s, y: Pseudo(None, Rows(s.X, y)),
    "rows.X": lambda s, change: Pseudo(None, Rows(change(s.X), Y)),
    "p": lambda s, p: replace(sound(s), p=p),
}


def check_refused(act, says: str) -> None:
    with pytest.raises(UserError, match=rf"^Predict(\.label \(.*made_up\.py\))? .*{says}") as told:
        going = adaptation(made_up.stream(), labeler=Predict(act))
        going.step(made_up.stream().segment(1))
    assert "\n" not in str(told.value) and "learning rate" not in str(told.value)


@pytest.mark.parametrize(("slot", "bad", "says"), [
    ("y", Y + 99, "with labels 99 to 99; it must return labels 0 to 2"),
    ("y", Y - 1, "with labels -1 to -1"), ("y", Y[:, None], r"= a tensor int64 \[19, 1\]"),
    ("y", Y[1:], r"= a tensor int64 \[18\]; it must return y as a tensor int64 \[19"),
    ("y", Y.float(), r"= a tensor float32 \[19\]"), ("y", Y.tolist(), "= the list"),
    ("y", Y.numpy(), r"= a NumPy array int64 \[19\]"),
    ("rows.y", Y + 3, "with labels 3 to 3"), ("rows.y", None, "= None"),
    ("rows.y", Y[1:], r"= a tensor int64 \[18\]"), ("rows.y", Y.float(), "= a tensor float32"),
    ("rows.X", with_nan, "with NaN or infinity"), ("rows.X", lambda X: X / 0, "with NaN or inf"),
    ("rows.X", lambda X: X[:, 1:], r"= a tensor float32 \[19, 3\].* float32 \[any, 4\]"),
    ("rows.X", lambda X: X.double(), r"= a tensor float64 \[19, 4\]"),
    ("rows.X", lambda X: X.numpy(), r"= a NumPy array float32 \[19, 4\]"),
    ("rows.X", lambda X: X.clone().requires_grad_(), r"= .* with a gradient \(use .detach"),
    ("p", P[:, 1:], r"= a tensor float32 \[19, 2\]; .* \[19, 3\]"),
    ("p", with_nan(P), "with NaN"), ("p", P.numpy(), "= a NumPy array"),
])  # fmt: skip
def test_a_bad_value_in_one_slot(slot, bad, says):
    check_refused(lambda s, _: SLOTS[slot](s, bad), f"returned {slot} {says}")


@pytest.mark.parametrize(("act", "says"), [
    (lambda s, _: None, r"returned None; it must return Pseudo\(y, Rows\(X, y\), log\)"),
    (lambda s, _: Y, r"a tensor int64 \[19\]; it must return Pseudo"),
    (lambda s, _: (Y, Rows(s.X, Y)), "returned the tuple"),
    (lambda s, _: Pseudo(Y, s.X), "must return Pseudo"),
    (lambda s, _: Pseudo(Y, None), "must return Pseudo"),
    (lambda s, _: Pseudo(None, Rows(s.X + 1, Y)), "other rows than .* long_mem"),
    (after(lambda _, of: of.theta.__setitem__(0, torch.zeros(2, 6))), r"left parameters .*2, 6\]"),
    (after(lambda s, _: s.X.add_(1)), "left its input changed"),
    (after(lambda s, _: s.X.numpy().fill(1)), r"left its input changed \(a tensor .*: .* \.clone"),
    (after(lambda s, _: s.gold.y.zero_()), "left its input changed"),
    (lambda s, _: s.nothing, r"raised AttributeError .*line \d+\): .* 'nothing'"),
])  # fmt: skip
def test_a_labeler(act, says):
    check_refused(act, says)


LOGS = {"text": {"a": "b"}, "a shape": {"a": torch.ones(2)}, "NaN": {"a": np.nan}, "a key": {1: 2}}
LOGS |= {"a list": ["a"], "a tensor": torch.ones(2), "None": {"a": None}}


@pytest.mark.parametrize("kind", LOGS)
def test_a_log(kind):
    labeler = Predict(lambda step, _: replace(sound(step), log=LOGS[kind]))
    for parts in ((labeler, Act()), (None, Act(lambda step, _: LOGS[kind]))):
        with pytest.raises(ComponentError, match=r"made_up.py\) returned log.*finite numbers by"):
            made_up.run(*parts)


def stands_in(classify):
    return lambda _, learner: setattr(learner, "classifier", classify)


@pytest.mark.parametrize(("act", "says"), [
    (lambda s, _: {"a": float(s.X.add_(1).sum())}, r"^Act.replay .* left its input changed"),
    (stands_in(lambda x: x[:, 0]), r"^function .* labels = a tensor float32 \["),
    (stands_in(lambda x: torch.full((len(x),), 9)), r"^function .* with labels 9 to 9"),
    (lambda s, learner: learner.fit(made_up.support.training(), [Rows(s.X, Y + 7)], s.draws),
     r"^Act raised ValueError in .*: cannot fit to labels 7 to 7 of 3"),
])  # fmt: skip
def test_a_replay_and_an_own_classifier(act, says):
    with pytest.raises(ComponentError, match=says):
        made_up.run(None, Act(act))


@pytest.mark.parametrize(
    "found", ["text", None, 1.0, {"a": "b"}, {"a": np.nan}, {1: 2.0}, {"a": [["b"]]}, {"a": DATA.X}]
)
def test_a_probe(found):
    class Odd(Probe):
        def measure(self, *given):
            return found

    says = r"^Odd.measure \(.*test_contract.py\) returned .* curves"
    with pytest.raises(ComponentError, match=says):
        measure(Odd())
    found = {"number": np.float32(2), "whole": 3, "curve": [1, 2.5], "of torch": torch.ones(2)}
    made = measure(Odd())
    assert [type(value) for value in made.values()] == [float, float, np.ndarray, np.ndarray]
    assert made["curve"].tolist() == [1, 2.5]
