"""What a config folder may not do, whoever wrote it: run code through Hydra, or fill the memory.

A component's dotted name (labeler.name=package.module) imports that module: this is by design, and
the only way in which a config names code. `install` puts both checks between Hydra and a config.
"""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf

from sdsl.config.home import home
from sdsl.errors import UserError

OURS = ("LocalLauncher", "RayLauncher", "SubmititLauncher", "SeedSweeper")
BASIC = "hydra._internal.core_plugins.basic_"
TARGETS = {f"hydra_plugins.sdsl.{name}" for name in OURS}
TARGETS |= {f"{BASIC}launcher.BasicLauncher", f"{BASIC}sweeper.BasicSweeper"}
HANDLERS = ("logging.StreamHandler", "logging.FileHandler")
MOST_BYTES, MOST_NODES = 2**20, 100_000  # of one YAML file, its aliases written out
MAY_NOT = "A config may choose settings, but run no code of its own."


def install() -> None:
    """From now on Hydra reads and composes nothing that is not checked; twice does no harm."""
    Plugins.instance()  # its scan registers Hydra's own source
    SourcesRegistry.instance().types["file"] = CheckedSource
    plain = ConfigLoaderImpl.load_configuration
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def load_configuration(self: ConfigLoaderImpl, *args: Any, **kwargs: Any) -> DictConfig:
        config = plain(self, *args, **kwargs)
        check(config)
        return config

    ConfigLoaderImpl.load_configuration = load_configuration  # type: ignore[method-assign]


class CheckedSource(FileConfigSource):
    """A folder of YAML files; those that are not ours are looked at before they are loaded."""

    def load_config(self, config_path: str) -> ConfigResult:
        path = Path(self.path, self._normalize_file_name(config_path))
        if path.is_file() and home() not in path.resolve().parents:
            check_file(path)
        return super().load_config(config_path)


def check_file(path: Path) -> None:
    """Refuses a YAML file that is small on disk and huge once its aliases are written out."""
    if path.stat().st_size > MOST_BYTES:
        raise UserError(f"{path}: more than {MOST_BYTES // 2**20} MB of YAML; a config is shorter.")
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        size = _size(root, {})
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        return  # no YAML: Hydra says where and why
    if size > MOST_NODES:
        raise UserError(
            f"{path}: its aliases (*name) stand for more than {MOST_NODES:,} values. Write a "
            "smaller config without them."
        )
    if "searchpath" in _keys(_value(root, "hydra")):
        raise UserError(f"{path}: hydra.searchpath names other folders and packages. {MAY_NOT}")


def check(config: DictConfig) -> None:
    """Refuses a composed config that names code for Hydra to run."""
    plain: Any = OmegaConf.to_container(config, resolve=False)
    hydra = plain.get("hydra") or {}
    if hydra.get("callbacks"):
        raise UserError(f"hydra.callbacks={_named(hydra['callbacks'])} is refused. {MAY_NOT}")
    if (hydra.get("job") or {}).get("env_set"):
        raise UserError(f"hydra.job.env_set is refused: set variables in your shell. {MAY_NOT}")
    for key, value in _leaves(plain, ""):
        name = key.rpartition(".")[2]
        if name == "_target_" and value not in TARGETS:
            raise UserError(f"{key}={value} is refused: it is no launcher or sweeper. {MAY_NOT}")
        if not key.startswith(("hydra.job_logging.", "hydra.hydra_logging.")):
            continue
        if name in ("()", "factory") or (name == "class" and value not in HANDLERS):
            raise UserError(f"{key}={value} is refused. {MAY_NOT}")
        if isinstance(value, str) and "://" in value and not value.startswith("ext://sys.std"):
            raise UserError(f"{key}={value} is refused. {MAY_NOT}")


def _leaves(node: Any, key: str) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of everything in a config."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _leaves(value, f"{key}.{name}" if key else str(name))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from _leaves(value, f"{key}.{i}")
    else:
        yield key, node


def _named(section: Any) -> str:
    return ", ".join(map(str, section)) if isinstance(section, dict) else str(section)


def _size(node: yaml.Node | None, known: dict[int, int]) -> int:
    """How many values a YAML node stands for; a node that holds itself has no end."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_NODES + 1  # what refers to itself meets this
        pairs = isinstance(node, yaml.MappingNode)
        inner = [part for pair in node.value for part in pair] if pairs else node.value
        known[id(node)] = min(1 + sum(_size(part, known) for part in inner), MOST_NODES + 1)
    return known[id(node)]


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _keys(node: yaml.Node | None) -> list[str]:
    return [name.value for name, _ in node.value] if isinstance(node, yaml.MappingNode) else []
