"""The state between two steps as plain data, and as one file; nothing is pickled.

`dump` walks over an object and gives its tensors and a JSON table of everything else; `restore`
builds the object again. Allowed are numbers, text, lists, tuples, dicts, tensors, arrays, random
generators, and objects of classes defined in the rooms below or in modules the caller names.
An object that is referred to twice is written once, and so is memory that two tensors share: what
is restored goes on as if it had never been away, bit for bit.

The file is a safetensors file with the table in its metadata. Reading it runs no code but that of
the allowed classes' modules, and calls no method of theirs.
"""

import importlib
import json
import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from sdsl.errors import UserError

ROOMS = ("sdsl.core.", "sdsl.algorithms.", "sdsl.labelers.", "sdsl.replays.")
FORMAT, VERSION = "sdsl state", 1
ALIGN = 16  # numbers: a view keeps its place within a cache line, on which last bits may hang
FACTORIES = {"int": int, "float": float, "list": list, "dict": dict}  # of a defaultdict
Tree = dict[str, Any]  # {"objects": [one entry per object], "root": a value}


def dump(thing: Any, modules: Sequence[str] = ()) -> tuple[dict[str, Tensor], Tree]:
    """(tensors by name, JSON-able table); modules: where classes of one's own may be defined."""
    writer = _Writer(modules)
    root = writer.value(thing, "state")
    tensors = writer.pieces()
    return tensors, {"objects": writer.objects, "root": root}


def restore(tensors: Mapping[str, Tensor], tree: Tree, modules: Sequence[str] = ()) -> Any:
    """What `dump` was given. Data that `dump` did not write is refused with a UserError."""
    try:
        return _Reader(tensors, tree["objects"], modules).value(tree["root"])
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise UserError(f"The state is damaged ({type(error).__name__}: {error}).") from None


def save_state(path: str | Path, thing: Any, modules: Sequence[str] = ()) -> None:
    """Write one file: whole, or not at all."""
    tensors, tree = dump(thing, modules)
    about = {"format": FORMAT, "version": str(VERSION), "tree": json.dumps(tree, allow_nan=False)}
    write_whole(Path(path), save(tensors, about))


def load_state(path: str | Path, modules: Sequence[str] = ()) -> Any:
    """What `save_state` wrote; any other file is refused in one sentence."""
    try:
        with safe_open(str(path), framework="pt") as file:
            about = file.metadata() or {}
            _check_format(path, about)
            # Copied, so that they lie in memory as tensors do and not as the file does.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        tree = json.loads(about["tree"])
    except FileNotFoundError:
        raise UserError(f"{path}: no such file.") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except (SafetensorError, ValueError, KeyError, RecursionError) as error:
        raise UserError(f"{path}: not a whole state file of sdsl ({error}).") from None
    try:
        return restore(tensors, tree, modules)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def write_whole(path: Path, data: bytes) -> None:
    """A reader sees the old file or the new one, also after a crash."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # or the rename itself may be lost
        finally:
            os.close(folder)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}).") from None
    finally:
        beside.unlink(missing_ok=True)


def _check_format(path: str | Path, about: Mapping[str, str]) -> None:
    if about.get("format") != FORMAT or not about.get("version", "").isdecimal():
        raise UserError(f"{path}: a safetensors file, but not a state of sdsl.")
    if int(about["version"]) > VERSION:
        raise UserError(
            f"{path}: written by a newer sdsl (state version {about['version']}; this one reads "
            f"up to {VERSION}). Upgrade sdsl to read it."
        )


def _allowed(module: str, modules: Sequence[str]) -> bool:
    return module.startswith(ROOMS) or module in modules


class _Writer:
    """Gives every object a number, and every shared memory a name."""

    def __init__(self, modules: Sequence[str]):
        self.modules = modules
        self.objects: list[Any] = []
        self._known: dict[int, int] = {}  # id -> number
        self._alive: list[Any] = []  # an id is an object's own only while it lives
        self._views: dict[int, list[tuple[Tensor, Tree]]] = defaultdict(list)  # by their memory

    def value(self, thing: Any, where: str) -> Any:
        """A JSON value: the thing itself, or a reference to an entry of the table."""
        if thing is None or isinstance(thing, bool | int | str):
            return thing if type(thing) in (type(None), bool, int, str) else self._no(thing, where)
        if type(thing) is float:
            return thing if math.isfinite(thing) else {"float": repr(thing)}
        if isinstance(thing, np.generic):
            return self.value(thing.item(), where)
        if id(thing) not in self._known:
            number = self._known[id(thing)] = len(self.objects)
            self._alive.append(thing)
            self.objects.append(None)  # its place; what it holds may refer back to it
            self.objects[number] = self._entry(thing, where)
        return {"ref": self._known[id(thing)]}

    def _entry(self, thing: Any, where: str) -> Tree:
        if isinstance(thing, Tensor):
            return {"tensor": self._tensor(thing)}
        if isinstance(thing, np.ndarray) and thing.dtype.kind in "biuf":
            return {"array": self._tensor(torch.from_numpy(np.ascontiguousarray(thing)))}
        if isinstance(thing, torch.Generator):
            return {"generator": self._tensor(thing.get_state())}
        if type(thing) in (list, tuple):
            items = [self.value(item, f"{where}[{i}]") for i, item in enumerate(thing)]
            return {type(thing).__name__: items}
        if type(thing) in (dict, defaultdict):
            pairs = [
                [self.value(k, f"a key of {where}"), self.value(v, f"{where}[{k!r}]")]
                for k, v in thing.items()
            ]
            if type(thing) is dict:
                return {"dict": pairs}
            factory = getattr(thing.default_factory, "__name__", "")
            if FACTORIES.get(factory) is thing.default_factory:
                return {"dict": pairs, "factory": factory}
        return self._object(thing, where)

    def _object(self, thing: Any, where: str) -> Tree:
        cls = type(thing)
        plain = cls.__new__ is object.__new__ and hasattr(thing, "__dict__")
        if (
            not plain
            or "<locals>" in cls.__qualname__
            or not _allowed(cls.__module__, self.modules)
        ):
            self._no(thing, where)
        fields = {name: self.value(v, f"{where}.{name}") for name, v in vars(thing).items()}
        return {"module": cls.__module__, "class": cls.__qualname__, "fields": fields}

    def _no(self, thing: Any, where: str) -> Any:
        raise UserError(
            f"{where} is a {type(thing).__module__}.{type(thing).__qualname__}, which cannot be "
            "saved. Keep numbers, text, lists, tuples, dicts, tensors, torch generators, or "
            "objects of classes defined at the top of the component's own module; no functions."
        )

    def _tensor(self, tensor: Tensor) -> Tree:
        self._alive.append(tensor)
        entry: Tree = {"size": list(tensor.shape), "stride": list(tensor.stride())}
        if tensor.requires_grad and tensor.is_leaf:
            entry["requires_grad"] = True
        self._views[tensor.untyped_storage().data_ptr()].append((tensor.detach(), entry))
        return entry

    def pieces(self) -> dict[str, Tensor]:
        """One flat tensor per shared memory: what its views show, and zeros where none looks."""
        found: dict[str, Tensor] = {}
        for group in self._views.values():
            by_type: dict[torch.dtype, list[tuple[Tensor, Tree]]] = defaultdict(list)
            for tensor, entry in group:
                by_type[tensor.dtype].append((tensor, entry))
            for dtype, views in by_type.items():
                name = str(len(found))
                start = min(t.storage_offset() for t, _ in views)
                start -= start % ALIGN
                end = max(t.storage_offset() + _span(t) for t, _ in views)
                found[name] = torch.zeros(end - start, dtype=dtype)
                for tensor, entry in views:
                    offset = tensor.storage_offset() - start
                    entry |= {"piece": name, "offset": offset}
                    once = [0 if s == 0 else slice(None) for s in tensor.stride()]  # expanded axes
                    seen = tensor[tuple(once)]
                    found[name].as_strided(seen.shape, seen.stride(), offset).copy_(seen)
        return found


def _span(tensor: Tensor) -> int:
    """Numbers from a tensor's first to its last in memory."""
    if not tensor.numel():
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


class _Reader:
    """Builds the objects of a table, each once."""

    def __init__(self, tensors: Mapping[str, Tensor], objects: list[Any], modules: Sequence[str]):
        self.tensors, self.objects, self.modules = tensors, objects, modules
        self._made: dict[int, Any] = {}

    def value(self, entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        if "float" in entry:
            return float(entry["float"])
        number = entry["ref"]
        if number not in self._made:
            self._make(number, self.objects[number])
        return self._made[number]

    def _make(self, number: int, entry: Tree) -> None:
        made = self._made
        if "tensor" in entry:
            made[number] = self._tensor(entry["tensor"])
        elif "array" in entry:
            made[number] = self._tensor(entry["array"]).numpy()
        elif "generator" in entry:
            made[number] = torch.Generator()
            made[number].set_state(self._tensor(entry["generator"]))
        elif "tuple" in entry:
            made[number] = tuple(self.value(item) for item in entry["tuple"])
        elif "list" in entry:
            made[number] = []  # noted before it is filled: what it holds may refer to it
            made[number] += [self.value(item) for item in entry["list"]]
        elif "dict" in entry:
            factory = FACTORIES.get(entry.get("factory", ""))
            made[number] = defaultdict(factory) if factory else {}
            made[number].update((self.value(k), self.value(v)) for k, v in entry["dict"])
        else:
            made[number] = object.__new__(self._class(entry["module"], entry["class"]))
            fields = {name: self.value(v) for name, v in entry["fields"].items()}
            made[number].__dict__.update(fields)

    def _class(self, module: str, name: str) -> type:
        if not _allowed(module, self.modules):
            raise UserError(
                f"the state holds a {name} of the module {module}, which is not one of sdsl's. If "
                f"you trust it, name it: modules=['{module}']."
            )
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = vars(found)[part]
        except (ImportError, KeyError, TypeError):
            raise UserError(f"the state holds a {module}.{name}, which is not here.") from None
        if not isinstance(found, type) or found.__module__ != module:
            raise UserError(f"the state names {module}.{name}, which is no class of that module.")
        return found

    def _tensor(self, entry: Tree) -> Tensor:
        piece = self.tensors[entry["piece"]]
        view = piece.as_strided(entry["size"], entry["stride"], entry["offset"])
        return view.requires_grad_() if entry.get("requires_grad") else view
