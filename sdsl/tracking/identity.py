"""Who a run is: the SHA-256 of its config, seed, data and the code its numbers depend on."""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdsl.experiment import IDENTITY

WHERE_FROM = ("sources", "expect")  # where rows come from; the stream's digest says what they are
LIBRARIES = ("torch", "numpy")  # a version of these may change the last bit of any number
PARTS = ("labeler", "replay", "probe")


def group_key(config: Mapping[str, Any], stream_sha256: str) -> str:
    """The same for every seed of one config on one stream under one version of the code."""
    settings = {name: config[name] for name in IDENTITY}
    dataset = settings["dataset"].items()
    settings["dataset"] = {k: v for k, v in dataset if k not in WHERE_FROM}
    return _sha256(settings, stream_sha256, code_sha256(config))


def run_key(group: str, seed: int) -> str:
    return _sha256(group, seed)


def code_sha256(config: Mapping[str, Any]) -> str:
    """Changes with any file behind this config's numbers, and with no other."""
    return _code_sha256(_start(config))


def code_files(config: Mapping[str, Any]) -> dict[str, Path]:
    """module -> source file: all that the engine and this config's own parts import."""
    return _closure(_start(config))


def _start(config: Mapping[str, Any]) -> tuple[str, ...]:
    names = [(part, str(config[part]["name"])) for part in PARTS]
    return ("sdsl.experiment", *(n if "." in n else f"sdsl.{part}s.{n}" for part, n in names))


@functools.lru_cache
def _code_sha256(start: tuple[str, ...]) -> str:
    files = _closure(start)
    sources = {name: hashlib.sha256(files[name].read_bytes()).hexdigest() for name in files}
    return _sha256(sources, {name: importlib.metadata.version(name) for name in LIBRARIES})


def _closure(start: tuple[str, ...]) -> dict[str, Path]:
    own = {name.partition(".")[0] for name in start}  # sdsl, and the packages of foreign parts
    seen: dict[str, Path] = {}
    queue = list(start)
    while queue:
        module = queue.pop()
        # sdsl.datasets stays out: the stream's digest covers what it does.
        if module in seen or module.startswith("sdsl.datasets") or not (file := _source(module)):
            continue
        seen[module] = file
        queue += [n for n in _imports(file, module) if n.partition(".")[0] in own]
    return seen


def _imports(file: Path, module: str) -> set[str]:
    """Names that a file imports; `from a import b` may mean a or the module a.b."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    found = {package}
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            dotted = "." * node.level + (node.module or "")
            name = importlib.util.resolve_name(dotted, package) if node.level else dotted
            found |= {name} | {f"{name}.{alias.name}" for alias in node.names}
    return found


def _source(module: str) -> Path | None:
    """The file of a module, or None where the name is no module (a class, say)."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _sha256(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
