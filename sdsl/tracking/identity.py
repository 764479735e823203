"""Identity of a run: run_key = SHA-256 of its config, its data, its source code, and its seed."""

import ast
import functools
import hashlib
import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdsl.config import Names, Setup
    from sdsl.core.rows import Table

METHOD = ("method", "learner", "labeler", "replay", "lookback")
SECTIONS = ("dataset", "stream", *METHOD, "eval", "probe")
# Where rows come from; the SHA-256 of the rows themselves says which they are.
NOT_IN_KEY = ("sources", "expect")
OTHER_SECTIONS = ("data", "seed", "tracking", "checkpoint", "force")
# Where numbers are made; those of the data are known by the rows.
ROOMS = tuple(f"sdsl.{r}." for r in ("core", "labelers", "replays", "probes", "experiment"))


@dataclass(frozen=True)
class Group:
    """A config on its data: what its runs, one per seed, share."""

    config: Mapping[str, Any]
    names: "Names"
    group_key: str  # SHA-256 of config, rows and code
    tags: Mapping[str, str]


def describe(setup: "Setup", table: "Table") -> Group:
    """The group of a setup whose data is loaded."""
    from sdsl.config import names

    called, stream, code = names(setup), table.digest(), code_sha256(targets(setup.config))
    key = _sha256(_without_places(settings(setup.config)), stream, code)
    tags = {
        "method": setup.name,
        "dataset": table.name,
        **{part: getattr(called, part) for part in ("variant", "stream", "setting")},
        "group_key": key,
        "source": table.source,
        "standing": table.standing,
        "data_sha256": table.sha256,  # of the source's bytes
        "stream_sha256": stream,  # of the rows as they are used
        "code_sha256": code,
        "rows": str(len(table.y)),
        "features": str(table.X.shape[1]),
        "classes": str(len(table.classes)),
    }
    return Group(setup.config, called, key, tags)


def run_key(group_key: str, seed: int) -> str:
    return _sha256(group_key, seed)


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The sections that a run's numbers depend on."""
    kept = {name: config[name] for name in SECTIONS}
    dataset = {key: value for key, value in kept["dataset"].items() if key not in NOT_IN_KEY}
    return kept | {"dataset": dataset}


def added(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that a user added to the config, such as `+note=hi`."""
    return {key: config[key] for key in config if key not in (*SECTIONS, *OTHER_SECTIONS)}


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{'learner': {'hidden': [100]}} -> {'learner.hidden': [100]}"""
    found: dict[str, Any] = {}
    for key, value in config.items():
        inside = isinstance(value, Mapping)
        found |= flat(value, f"{prefix}{key}.") if inside else {f"{prefix}{key}": value}
    return found


def targets(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Every `_target_` that a run's numbers depend on: its components and groups of settings."""
    named = flat(settings(config)).items()
    return tuple(sorted({str(v) for key, v in named if key.rpartition(".")[2] == "_target_"}))


@functools.lru_cache
def code_sha256(targets: tuple[str, ...]) -> str:
    """Changes with the contents of the core and of every file these classes import.

    Names and places of files do not count, so that code may move.
    """
    return _sha256(sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files(targets)))


def files(targets: tuple[str, ...]) -> set[Path]:
    """The source files behind these classes: ours, and those of a user's own packages."""
    own = {f"{target.partition('.')[0]}." for target in targets} - {"sdsl."}
    core = Path(__file__).parents[1] / "core"
    queue = [f"sdsl.core.{file.stem}" for file in core.glob("*.py")]
    queue += ["sdsl.experiment", *(target.rpartition(".")[0] for target in targets)]
    seen: dict[str, Path | None] = {}
    while queue:
        module = queue.pop()
        if module in seen or not f"{module}.".startswith((*ROOMS, *own)):
            continue
        seen[module] = file = _source(module)
        if file is not None:
            package = module if file.name == "__init__.py" else module.rpartition(".")[0]
            queue += _imports(file.read_text(encoding="utf-8"), package)
    return {file for file in seen.values() if file is not None}


def _imports(source: str, package: str) -> Iterator[str]:
    """Modules that a file may import: `from a import b` may mean a or the module a.b."""
    yield package
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dotted = "." * node.level + (node.module or "")
            name = importlib.util.resolve_name(dotted, package) if node.level else dotted
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


def _source(module: str) -> Path | None:
    """The file of a module; None for a name that is no module (a class, say)."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _without_places(value: Any) -> Any:
    """Every `_target_` reduced to the name of its class."""
    if isinstance(value, Mapping):
        short = {k: v.rpartition(".")[2] for k, v in value.items() if k == "_target_"}
        return {key: _without_places(part) for key, part in value.items()} | short
    return [_without_places(part) for part in value] if isinstance(value, list) else value


def _sha256(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
