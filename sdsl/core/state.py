"""Plain data in one file: tensors, arrays, numbers, text, None, and lists, tuples, dicts of them.

A safetensors file: numbers lie in its tensors, the structure is JSON in its metadata. Nothing is
pickled, and reading runs no code of the file's. Memory that two tensors share is written twice.

A checkpoint is such a file of a run between two segments: all that passes from step to step (the
adaptation with its parameters, lookback, components and generators), the cells of R so far, the
curves. A checkpoint of another run is not used.
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from sdsl.errors import UserError

FORMAT, VERSION = "sdsl state", 2
SHARE = 0.02  # of a run's time, at most, that writing checkpoints may take
# What damaged data raises where it is taken over.
DAMAGED = KeyError, TypeError, ValueError, AttributeError, ImportError, RuntimeError, IndexError
Say = Callable[[str], None]  # takes a sentence for the user


def save_state(path: str | Path, data: Any) -> None:
    """Write one file: whole, or not at all."""
    tensors: dict[str, Tensor] = {}
    tree = json.dumps(_pack(data, tensors, "state"), allow_nan=False)
    about = {"format": FORMAT, "version": str(VERSION), "tree": tree}
    write_whole(Path(path), save(tensors, about))


def load_state(path: str | Path) -> Any:
    """The data that `save_state` wrote; any other file is refused in one sentence."""
    try:
        with safe_open(str(path), framework="pt") as file:
            about = file.metadata() or {}
            if about.get("format") != FORMAT or about.get("version") != str(VERSION):
                raise UserError(
                    f"{path}: not a state that this version of sdsl reads (format "
                    f"{about.get('format')!r}, version {about.get('version')!r}; expected "
                    f"{FORMAT!r}, {VERSION})."
                )
            # Copied, so that they lie in memory as tensors do and not as the file does.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        return _unpack(json.loads(about["tree"]), tensors)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file.") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise UserError(f"{path}: not a whole state file of sdsl ({e}).") from None


def write_whole(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write bytes, or pieces of them. Readers see the old file or the new, also after a crash."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # or the rename itself may be lost
        finally:
            os.close(folder)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}).") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _pack(data: Any, tensors: dict[str, Tensor], where: str) -> Any:
    """JSON in which containers and tensors are tagged with their kind; tensors are collected."""
    if data is None or isinstance(data, bool | int | str):
        return data
    if isinstance(data, np.generic):
        return _pack(data.item(), tensors, where)
    if isinstance(data, float):
        return data if math.isfinite(data) else {"float": repr(data)}
    if isinstance(data, np.ndarray) and data.dtype.kind in "biuf":
        return {"array": _store(torch.from_numpy(data.copy()), tensors)}
    if isinstance(data, Tensor):
        return {"tensor": _store(data, tensors)}
    if isinstance(data, list | tuple):
        kind = "list" if isinstance(data, list) else "tuple"
        return {kind: [_pack(item, tensors, f"{where}[{i}]") for i, item in enumerate(data)]}
    if isinstance(data, Mapping):
        pairs = [
            [_pack(key, tensors, where), _pack(value, tensors, f"{where}[{key!r}]")]
            for key, value in data.items()
        ]
        return {"dict": pairs}
    raise UserError(
        f"{where} is a {type(data).__name__}: the state of a component must be plain data "
        "(tensors, arrays, numbers, text, lists, tuples, dicts). Override state() and restore()."
    )


def _store(tensor: Tensor, tensors: dict[str, Tensor]) -> str:
    name = str(len(tensors))
    tensors[name] = tensor.detach().clone().contiguous()
    return name


def _unpack(entry: Any, tensors: Mapping[str, Tensor]) -> Any:
    if not isinstance(entry, dict):
        return entry
    ((kind, value),) = entry.items()
    if kind in ("tensor", "array"):
        return tensors[value] if kind == "tensor" else tensors[value].numpy()
    if kind in ("list", "tuple"):
        items = [_unpack(item, tensors) for item in value]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {_unpack(key, tensors): _unpack(item, tensors) for key, item in value}
    return float(entry["float"])


class Checkpoint:
    """One file; `key` identifies the run and its code."""

    def __init__(self, file: Path, key: str, seconds: float | None, say: Say = lambda text: None):
        """seconds: between two writes, or longer by SHARE; None: nothing is written."""
        self.file, self.key, self.say = file, key, say
        self.seconds = math.inf if seconds is None else seconds
        self.next = time.monotonic() + self.seconds

    def load(self, T: int) -> dict[str, Any] | None:
        """The data of the last `keep`; None, with a sentence, if it is not a state of this run."""
        if not self.file.exists():
            return None
        try:
            saved = load_state(self.file)
            if not isinstance(saved, dict) or saved.get("key") != self.key:
                raise UserError(f"{self.file}: it is of another run.")
            t = saved["adapting"]["t"]
            if not 1 <= t <= T:
                raise UserError(f"{self.file}: not the state of a run of {T} segments.")
        except (UserError, KeyError, TypeError) as error:
            self.say(f"A checkpoint is left unused, and the run starts anew. {error}")
            return None
        self.say(f"continued at segment {t} of {T}")
        return saved

    def keep(self, data: Callable[[], dict[str, Any]]) -> None:
        """Called after every segment; writes when it is time."""
        start = time.monotonic()
        if start < self.next:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            save_state(self.file, data() | {"key": self.key})
        except (UserError, OSError) as error:  # a full disk, or a state that is not plain data
            self.say(f"No checkpoint can be kept: a stop would cost the whole run. {error}")
            self.next = math.inf
            return
        now = time.monotonic()
        self.next = now + max(self.seconds, (now - start) / SHARE)

    def remove(self) -> None:
        """The run is recorded: its checkpoint is no longer needed."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self.file.parent.rmdir()  # if it is empty
