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
    """Source files behind this config's numbers: the engine's, and those of its own parts."""
    names = [(part, str(config[part]["name"])) for part in PARTS]
    start = tuple(name if "." in name else f"sdsl.{part}s.{name}" for part, name in names)
    return _code_sha256(("sdsl.experiment", *start))


@functools.lru_cache
def _code_sha256(start: tuple[str, ...]) -> str:
    # datasets: the stream's digest covers them. Other packages: LIBRARIES, or the user's own.
    own = {name.partition(".")[0] for name in start}
    seen: dict[str, str] = {}
    queue = list(start)
    while queue:
        module = queue.pop()
        file = _source(module)
        if module in seen or file is None or module.startswith("sdsl.datasets"):
            continue
        source = file.read_bytes()
        seen[module] = hashlib.sha256(source).hexdigest()
        queue += [name for name in _imports(source) if name.partition(".")[0] in own]
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return _sha256(sorted(seen.items()), versions)


def _imports(source: bytes) -> set[str]:
    """Absolute names that a file imports; `from a import b` may mean a or the module a.b."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found | {name.rpartition(".")[0] for name in found if "." in name}


def _source(module: str) -> Path | None:
    """The file of a module, or None where the name is no module (a class, say)."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _sha256(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
