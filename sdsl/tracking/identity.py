"""Who a run is: the SHA-256 of its config, seed, data and the code its numbers depend on."""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sdsl.config import naming
from sdsl.config.help import own_folders
from sdsl.config.identity import flatten, settings
from sdsl.config.registry import BASES, module_name
from sdsl.config.schema import Setup
from sdsl.core.table import Table
from sdsl.tracking.records import Group

LIBRARIES = (
    "torch",
    "numpy",
    "numba",
    "scipy",
)  # a version of these may change the last bit of any number


def describe(setup: Setup, table: Table) -> Group:
    """What the seeds of a setup share once its data is loaded."""
    stream_sha256, code = table.digest(), code_sha256(setup)
    names = naming.names(setup.name, table.name, naming.as_logged(setup.config), own_folders())
    return Group(
        method=setup.name,
        dataset=table.name,
        **asdict(names),
        labeler=_name(setup, "labeler"),
        replay=_name(setup, "replay"),
        data_sha256=table.sha256,
        data_source=table.source,
        data_standing=table.standing,
        data_rows=len(table.y),
        data_features=table.X.shape[1],
        data_classes=len(table.classes),
        stream_sha256=stream_sha256,
        code_sha256=code,
        group_key=group_key(setup, stream_sha256, code),
        result_key=result_key(setup, len(table.classes), stream_sha256, code),
    )


def group_key(setup: Setup, stream_sha256: str, code: str | None = None) -> str:
    """The same for every seed of one config on one stream under one version of the code."""
    return _sha256(settings(flatten(setup.config)), stream_sha256, code or code_sha256(setup))


def result_key(setup: Setup, classes: int, stream_sha256: str, code: str) -> str:
    """The same for groups that come to the same: a method's name and what is idle have no say."""
    kept = settings(flatten(setup.config))
    kept.pop("method.name", None)
    for group, part in (("labeler", setup.method.labeler), ("replay", setup.method.replay)):
        kept |= {f"{group}.{name}": value for name, value in part.reduces_to(classes).items()}
    return _sha256("result", kept, stream_sha256, code)


def run_key(group: str, seed: int) -> str:
    return _sha256(group, seed)


def code_sha256(setup: Setup) -> str:
    """Changes with any file behind this setup's numbers, and with no other."""
    return _code_sha256(_first_modules(setup))


def code_files(setup: Setup) -> dict[str, Path]:
    """module -> source file: all that the experiment and this setup's own components import."""
    return _closure(_first_modules(setup))


def _name(setup: Setup, group: str) -> str:
    return str(setup.config[group]["name"])


def _first_modules(setup: Setup) -> tuple[str, ...]:
    return ("sdsl.experiment", *(module_name(group, _name(setup, group)) for group in BASES))


@functools.lru_cache
def _code_sha256(first: tuple[str, ...]) -> str:
    files = _closure(first)
    sources = {name: hashlib.sha256(files[name].read_bytes()).hexdigest() for name in files}
    return _sha256(sources, {name: importlib.metadata.version(name) for name in LIBRARIES})


def _closure(first: tuple[str, ...]) -> dict[str, Path]:
    packages = {name.partition(".")[0] for name in first}  # sdsl, and those of foreign components
    seen: dict[str, Path] = {}
    queue = list(first)
    while queue:
        module = queue.pop()
        # sdsl.datasets stays out: the stream's digest covers what it does.
        if module in seen or module.startswith("sdsl.datasets") or not (file := _source(module)):
            continue
        seen[module] = file
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        found = _imports(file.read_bytes(), package)
        queue += [name for name in found if name.partition(".")[0] in packages]
    return seen


@functools.cache  # the methods of a sweep share most of their files
def _imports(source: bytes, package: str) -> frozenset[str]:
    """Names that a file imports; `from a import b` may mean a or the module a.b."""
    names = {package}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            dotted = "." * node.level + (node.module or "")
            name = importlib.util.resolve_name(dotted, package) if node.level else dotted
            names |= {name} | {f"{name}.{alias.name}" for alias in node.names}
    return frozenset(names)


def _source(module: str) -> Path | None:
    """The file of a module, or None where the name is no module (a class, say)."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _sha256(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
