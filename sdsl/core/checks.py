"""What a component returns is checked right after it returns: a mistake ends in one sentence.

Compiled loops read and write wherever an index points, so no label and no shape reaches them
unchecked, be it from a component, a table or a state file.
"""

import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sdsl.core.contract import Measured, Pseudo, Step
from sdsl.core.finite import NotFinite, all_finite
from sdsl.core.learner import Learner
from sdsl.core.network import wrong_shapes
from sdsl.core.rows import Rows, label_range
from sdsl.errors import ComponentError

Method = Callable[..., Any]  # of a component, bound: it is named in every sentence
INT, FLOAT, DOUBLE = torch.int64, torch.float32, torch.float64
RESULT = "Pseudo(y, rows, log)"
LOG = "a dict of finite numbers by name"
CURVES = "a dict of numbers and curves ([points] each) by name"


def check_pseudo(call: Method, pseudo: Any, step: Step, learner: Learner) -> None:
    """`call`, a labeler's `label`, returned it for this step."""
    n, d, classes = *step.X.shape, learner.classes
    if not isinstance(pseudo, Pseudo):
        raise wrong(call, shown(pseudo), RESULT)
    if pseudo.y is not None:
        _check_tensor(call, "y", pseudo.y, (n,), INT)
        _check_labels(call, "y", pseudo.y, classes)
    if not isinstance(rows := pseudo.rows, Rows):
        raise wrong(call, f"rows = {shown(rows)}", "rows as Rows(X, y)")
    if rows.X is not step.X:
        _check_tensor(call, "rows.X", rows.X, (-1, d), FLOAT)
        _check_finite(call, "rows.X", rows.X)
        labeler = call.__self__  # type: ignore[attr-defined]
        if not (labeler.long_memory or labeler.privileged or _are_given(rows.X, step)):
            raise wrong(
                call,
                "rows that are not in X_t, the lookback or gold",
                "rows of these, unless its class says long_memory = True",
            )
    if rows.y is not pseudo.y or rows.X is not step.X:
        _check_tensor(call, "rows.y", rows.y, (len(rows.X),), INT)
        _check_labels(call, "rows.y", rows.y, classes)
    if pseudo.p is not None:
        _check_tensor(call, "p", pseudo.p, (n, classes), FLOAT, DOUBLE)
        _check_finite(call, "p", pseudo.p)
    check_log(call, pseudo.log)
    if not isinstance(pseudo.note, str):
        raise wrong(call, f"note = {shown(pseudo.note)}", "a note as text")


def check_log(call: Method, log: Any) -> None:
    """The numbers of a step."""
    if not isinstance(log, Mapping):
        raise wrong(call, f"log = {shown(log)}", LOG)
    for name, value in log.items():
        if not isinstance(name, str) or not _is_number(value) or not isfinite(value):
            raise wrong(call, f"log[{name!r}] = {shown(value)}", LOG)


def check_measured(call: Method, found: Any) -> Measured:
    """The numbers and curves that `call`, a probe's `measure`, returned."""
    if not isinstance(found, Mapping):
        raise wrong(call, shown(found), CURVES)
    made: Measured = {}
    for name, value in found.items():
        points = np.asarray(value.detach() if isinstance(value, Tensor) else value)
        if not isinstance(name, str) or points.dtype.kind not in "biuf" or points.ndim > 1:
            raise wrong(call, f"{name!r}: {shown(value)}", CURVES)
        if not points.ndim and not np.isfinite(points):
            raise wrong(call, f"{name!r}: {shown(value)}", "finite numbers")
        made[name] = points.astype(float) if points.ndim else float(points)
    return made


def check_predicted(classifier: Any, y: Any, n: int, classes: int) -> None:
    """The labels of n rows by a classifier that a component installed."""
    _check_tensor(classifier, "labels", y, (n,), INT)
    _check_labels(classifier, "labels", y, classes)


class Inputs:
    """Notices tensors that a component changes in place, and a network of another shape.

    torch counts the changes of a tensor. Those through a NumPy view are seen in the bytes, which
    are compared if `exact`: at steps 1, 2, 4, 8, ..., so that it costs nothing.
    """

    def __init__(self, learner: Learner, exact: bool, *tensors: Tensor):
        self.learner, self.tensors = learner, tensors
        self.look = partial(_looked_at, tensors, exact)
        self.before = self.look()

    def check(self, call: Method) -> None:
        """Nothing was changed by `call`."""
        found = wrong_shapes(self.learner.theta, self.learner.sizes)
        if (now := self.look()) != self.before:
            pairs = zip(self.tensors, self.before, now, strict=True)
            changed = ", ".join(shown(part) for part, old, new in pairs if old != new)
            found = f"its input changed ({changed}); it must work on a copy, .clone()"
        if found:
            raise ComponentError(f"{name_of(call)} left {found}.")


def _looked_at(tensors: Sequence[Tensor], exact: bool) -> list[Any]:
    if exact:
        return [(part._version, part.detach().numpy().tobytes()) for part in tensors]
    return [part._version for part in tensors]


def wrong(call: Method, returned: str, expected: str) -> ComponentError:
    """'Mine.label (lab/mine.py) returned None; it must return Pseudo(y, rows, log).'"""
    return ComponentError(f"{name_of(call)} returned {returned}; it must return {expected}.")


def crashed(component: Any, error: Exception) -> ComponentError:
    """An exception in a component's code: where it was raised, and what."""
    file = inspect.getsourcefile(source_of(component)) or ""
    frames = traceback.extract_tb(error.__traceback__)
    at = next((f for f in reversed(frames) if f.filename == file), frames[-1])
    text = next(iter(str(error).splitlines()), "")
    return ComponentError(
        f"{type(component).__name__} raised {type(error).__name__} in {at.name} "
        f"({place(at.filename)}, line {at.lineno}): {text[:300]}"
    )


def name_of(call: Method) -> str:
    """'Mine.label (lab/mine.py)'"""
    owner = getattr(call, "__self__", call)
    name = f".{call.__name__}" if owner is not call else ""
    try:
        file = place(inspect.getsourcefile(source_of(call)) or "")
    except TypeError:  # made in a notebook
        file = "no file"
    return f"{type(owner).__name__}{name} ({file})"


def source_of(value: Any) -> Any:
    """The function or the class whose file a value comes from."""
    return value if inspect.isroutine(value) else type(value)


def place(file: str) -> str:
    """A file from the current folder on, if it is below."""
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file


def shown(value: Any) -> str:
    """A value in a sentence: 'a NumPy array float64 [20]', 'None', "the str 'a'"."""
    if isinstance(value, Tensor | np.ndarray):
        kind = "a tensor" if isinstance(value, Tensor) else "a NumPy array"
        grown = ", with a gradient" if getattr(value, "requires_grad", False) else ""
        return f"{kind} {str(value.dtype).removeprefix('torch.')} {list(value.shape)}{grown}"
    return "None" if value is None else f"the {type(value).__name__} {value!r:.60}"


def _check_tensor(
    call: Method, name: str, value: Any, shape: Sequence[int], *dtypes: torch.dtype
) -> None:
    """shape: -1 for any number."""
    sound = isinstance(value, Tensor) and value.dtype in dtypes and not value.requires_grad
    if (
        not sound
        or len(value.shape) != len(shape)
        or any(size not in (-1, found) for size, found in zip(shape, value.shape, strict=True))
    ):
        sizes = ", ".join("r" if size < 0 else str(size) for size in shape)
        kinds = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        raise wrong(call, f"{name} = {shown(value)}", f"{name} as a tensor {kinds} [{sizes}]")


def _check_labels(call: Method, name: str, y: Tensor, classes: int) -> None:
    if found := label_range(y, classes):
        raise wrong(call, f"{name} with labels {found}", f"labels 0 to {classes - 1}")


def _check_finite(call: Method, name: str, value: Tensor) -> None:
    if not isfinite(value.numpy().sum()) and not all_finite(
        [value]
    ):  # large ones may add up to infinity
        raise NotFinite(str(wrong(call, f"{name} with NaN or infinite numbers", "finite numbers")))


def _is_number(value: Any) -> bool:
    return isinstance(value, float | Real) or getattr(value, "shape", None) == ()


def _are_given(X: Tensor, step: Step) -> bool:
    """Whether every row of X is among those that the step has, bit for bit."""
    given = torch.cat([step.X, step.lookback.X, step.gold.X])
    odd = 2 * torch.arange(1, X.shape[1] + 1) + 1
    a, b = (((x.contiguous().view(torch.int32).long() + 7) * odd**5).sum(1) for x in (X, given))
    return bool(torch.isin(a, b).all())
