"""An array of a saved state, its values or its shape changed: refused, or a model that works."""

from typing import Any

import numpy as np
import pytest
import support
import torch

from sdsl.core.state import load_state, save_state
from sdsl.errors import UserError
from sdsl.use.follower import Follower, loaded

DATA = support.blobs(rows=120, classes=3, drift=1.0)
METHODS = ("st", "ours", "record", "cotta", "scargc", "tracker", "steady", "ours_repaired")


def arrays(data: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every tensor and array in plain data that can be changed."""
    found = []
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, torch.Tensor | np.ndarray) and isinstance(data, dict | list):
            found.append((data, key))
        elif isinstance(value, dict | list | tuple):
            found += arrays(value)
    return found


def plain(data: Any) -> Any:
    """Tuples as lists, which can be changed."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return [*map(plain, data)] if isinstance(data, list | tuple) else data


def mutate(state: Any, rng: np.random.Generator) -> Any:
    """One array of the state changed."""
    state = plain(state)
    found = arrays(state)
    box, key = found[rng.integers(len(found))]
    value = box[key]
    array = np.array(value)
    flat = array.reshape(-1)
    match rng.integers(6):
        case 0 if flat.size:
            wild = [-1, 99, 2**31] if array.dtype.kind in "iu" else [np.nan, -1e30, 1e30]
            with np.errstate(all="ignore"):
                flat[rng.integers(flat.size)] = np.asarray(rng.choice(wild)).astype(array.dtype)
        case 1:
            array = array[: len(array) // 2] if array.ndim else array[None]
        case 2:
            array = flat
        case 3:
            array = np.ascontiguousarray(array.T)
        case 4:
            array = np.concatenate([array, array], -1) if array.ndim else array[None]
        case _:
            array = array.astype(np.float64 if array.dtype.kind in "iu" else np.int64)
    box[key] = torch.from_numpy(np.array(array)) if isinstance(value, torch.Tensor) else array
    return state


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
def test_a_model_file(method, tmp_path):
    config = support.brief(support.composed(f"method={method}", "stream.scaler=frozen"))
    made = Follower(config, DATA.X[:40], DATA.y[:40], np.array(["a", "b", "c"]), 0)
    made.step(DATA.X[40:80])
    made.save(tmp_path / "a")
    whole, rng, refused = load_state(tmp_path / "a"), np.random.default_rng(0), 0
    for _ in range(60):
        save_state(tmp_path / "b", mutate(whole, rng))
        try:
            with loaded(tmp_path / "b") as (model, _):
                pass
            y, p = model.step(DATA.X[80:])
            assert set(y) <= {0, 1, 2} and np.isfinite(p).all()
            assert set(model.predict(DATA.X)) <= {0, 1, 2}
        except UserError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 0 < refused < 60
