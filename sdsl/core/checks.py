"""Checks what a component returns right after it returns: a mistake ends in one sentence.

Compiled loops read and write wherever an index points, so no label and no shape reaches them
unchecked, be it from a component, a table or a state file.
"""

import inspect
import traceback
from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sdsl.core.contract import Measured, Probe, Pseudo, Step
from sdsl.core.finite import NotFinite, all_finite
from sdsl.core.learner import Learner
from sdsl.core.network import wrong_shapes
from sdsl.core.rows import Rows, label_range
from sdsl.errors import ComponentError

Method = Any  # of a component, bound: every sentence names it


def check_pseudo(call: Method, pseudo: Any, step: Step, learner: Learner) -> None:
    """`call`, a labeler's `label`, returned it for this step."""
    (n, d), classes = step.X.shape, learner.classes
    if not (isinstance(pseudo, Pseudo) and isinstance(pseudo.rows, Rows)):
        raise wrong(call, shown(pseudo), "Pseudo(y, Rows(X, y), log)")
    rows = pseudo.rows
    if pseudo.y is not None:
        check_tensor(call, "y", pseudo.y, (n,), classes)
    if rows.X is not step.X:
        check_tensor(call, "rows.X", rows.X, (None, d))
        labeler: Any = getattr(call, "__self__", call)
        if not (labeler.long_memory or labeler.privileged or _are_given(rows.X, step)):
            own = "rows of X_t, the lookback or gold, unless its class has long_memory = True"
            raise wrong(call, "other rows than it was given", own)
    if pseudo.y is None or rows.y is not pseudo.y or rows.X is not step.X:
        check_tensor(call, "rows.y", rows.y, (len(rows.X),), classes)
    if pseudo.p is not None:
        check_tensor(call, "p", pseudo.p, (n, classes))
    check_log(call, pseudo.log)


def check_tensor(
    call: Method, name: str, value: Any, shape: tuple[int | None, ...], classes: int = 0
) -> None:
    """Labels below `classes`, else finite numbers; None: any size."""
    kinds = (torch.int64,) if classes else (torch.float32, torch.float64)[: 1 + (name == "p")]
    sound = isinstance(value, Tensor) and value.dtype in kinds and not value.requires_grad
    expected = (*value.shape[:1], *shape[1:]) if sound and shape[0] is None else shape
    if not sound or value.shape != expected:
        size = str([*shape]).replace("None", "any")
        kind = str(kinds[0]).removeprefix("torch.")
        raise wrong(call, f"{name} = {shown(value)}", f"{name} as a tensor {kind} {size}")
    if classes and (found := label_range(value, classes)):
        raise wrong(call, f"{name} with labels {found}", f"labels 0 to {classes - 1}")
    # Large float32 numbers may add up to infinity.
    if not (classes or isfinite(value.sum()) or all_finite([value])):
        raise NotFinite(str(wrong(call, f"{name} with NaN or infinity", "finite numbers")))


def check_log(call: Method, log: Any) -> None:
    """The numbers of a step."""
    expected = "a dict of finite numbers by name"
    if not isinstance(log, Mapping):
        raise wrong(call, f"log = {shown(log)}", expected)
    for name, value in log.items():
        number = isinstance(value, float | Real) or (isinstance(value, Tensor) and not value.ndim)
        if not (isinstance(name, str) and number and isfinite(value)):
            raise wrong(call, f"log[{name!r}] = {shown(value)}", expected)


def measure(probe: Probe, *given: Any) -> Measured:
    """The numbers and curves of a probe."""
    try:
        found = probe.measure(*given)
        found = found if isinstance(found, Mapping) else {None: found}
        points = {name: np.asarray(value) for name, value in found.items()}
    except Exception as error:
        raise crashed(probe, error) from error
    for name, p in points.items():
        number = p.dtype.kind in "biuf" and (p.ndim == 1 or (p.ndim == 0 and np.isfinite(p)))
        if not (isinstance(name, str) and number):
            own = shown(found[name]) if name is None else f"{name!r}: {shown(found[name])}"
            raise wrong(probe.measure, own, "a dict of finite numbers and curves by name")
    return {name: p.astype(float) if p.ndim else float(p) for name, p in points.items()}


def watch(learner: Learner, exact: bool, *tensors: Tensor) -> Callable[[Any], None]:
    """A check that a component changed none of the tensors, and not the shape of the network.

    torch counts the changes of a tensor. Those through a NumPy view are seen in its bytes, which
    are compared if `exact`: at steps 1, 2, 4, 8, ..., so that it costs next to nothing.
    """

    def look() -> list[Any]:
        return [(p._version, exact and p.detach().numpy().tobytes()) for p in tensors]

    def check(call: Method) -> None:
        found = wrong_shapes(learner.theta, learner.sizes)
        if (now := look()) != before:
            parts = [shown(p) for p, a, b in zip(tensors, before, now, strict=True) if a != b]
            found = f"its input changed ({', '.join(parts)}): it must work on a copy, .clone()"
        if found:
            raise ComponentError(f"{name_of(call)} left {found}.")

    before = look()
    return check


def wrong(call: Method, returned: str, expected: str) -> ComponentError:
    """'Mine.label (lab/mine.py) returned None; it must return Pseudo(y, rows, log).'"""
    return ComponentError(f"{name_of(call)} returned {returned}; it must return {expected}.")


def crashed(component: Any, error: Exception) -> ComponentError:
    """An exception in a component's code: where it was raised, and what."""
    file, frames = source(component), traceback.extract_tb(error.__traceback__)
    at = next((f for f in reversed(frames) if place(f.filename) == file), frames[-1])
    text = (str(error).splitlines() or [""])[0][:300]
    return ComponentError(
        f"{type(component).__name__} raised {type(error).__name__} in {at.name} "
        f"({place(at.filename)}, line {at.lineno}): {text}"
    )


def name_of(call: Method) -> str:
    """'Mine.label (lab/mine.py)'"""
    owner = getattr(call, "__self__", call)
    name = "" if owner is call else f".{call.__name__}"
    return f"{type(owner).__name__}{name} ({source(call)})"


def source(value: Any) -> str:
    """The file of a function, or of an object's class."""
    try:
        return place(
            inspect.getsourcefile(value if inspect.isroutine(value) else type(value)) or ""
        )
    except TypeError:
        return "made in a notebook"


def place(file: str) -> str:
    """A file from the current folder on, if it is below."""
    return file.removeprefix(f"{Path.cwd()}/")


def shown(value: Any) -> str:
    """A value in a sentence: 'a NumPy array float64 [20]', 'None', "the str 'a'"."""
    if isinstance(value, Tensor | np.ndarray):
        kind = "a tensor" if isinstance(value, Tensor) else "a NumPy array"
        grown = " with a gradient (use .detach())" if getattr(value, "requires_grad", False) else ""
        return f"{kind} {value.dtype} {[*value.shape]}{grown}".replace("torch.", "")
    return "None" if value is None else f"the {type(value).__name__} {value!r:.60}"


def _are_given(X: Tensor, step: Step) -> bool:
    """Whether every row of X is among those that the step has, bit for bit."""
    odd = (2 * torch.arange(1, X.shape[1] + 1) + 1) ** 5
    given = torch.cat([step.X, step.lookback.X, step.gold.X])
    a, b = (((p.contiguous().view(torch.int32).long() + 7) * odd).sum(1) for p in (X, given))
    return bool(torch.isin(a, b).all())
