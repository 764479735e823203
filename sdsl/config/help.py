"""The text of --help: the options of every config group, one line each; no name may stand twice."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from sdsl.config.home import home
from sdsl.errors import UserError

GROUPS = ("dataset", "method", "labeler", "replay", "seed", "probe", "sweeps")
HELP = """python -m sdsl.run: one run, or a sweep, of semi-supervised drifted stream learning.

  python -m sdsl.run                                        the default method, stream and seed
  python -m sdsl.run method=st dataset=spam seed=3          one choice from any group
  python -m sdsl.run method=ours labeler=confidence         a method is a (labeler, replay) pair
  python -m sdsl.run -m 'dataset=glob(*)' 'seed=range(5)'   a sweep on all cores
  python -m sdsl.run +sweeps=NAME                           a sweep from sweeps/
  python -m sdsl.run --cfg job                              every setting; change any with key=value

"""


def config_folders(hydra: HydraConf | DictConfig) -> list[Path]:
    """The folders of Hydra's search path, ours and the user's (--config-dir)."""
    return [Path(source.path) for source in hydra.runtime.config_sources if source.schema == "file"]


def own_folders() -> tuple[Path, ...]:
    """Those of --config-dir, of the job that Hydra runs now; none without Hydra."""
    if not HydraConfig.initialized():
        return ()
    ours = {home().resolve(), (home() / "conf").resolve()}
    found = (folder.resolve() for folder in config_folders(HydraConfig.get()))
    return tuple(folder for folder in found if folder not in ours)


def options(group: str, folders: Iterable[Path]) -> dict[str, list[Path]]:
    """option -> the files that define it; own/csv.yaml is the option own/csv."""
    files = defaultdict(list)
    for folder in dict.fromkeys(path.resolve() for path in folders):
        for file in sorted((folder / group).rglob("*.yaml")):
            files[file.relative_to(folder / group).with_suffix("").as_posix()].append(file)
    return dict(sorted(files.items()))


def refuse_duplicates(folders: Iterable[Path]) -> None:
    """Two files for one name: which of them Hydra takes would depend on the order of folders."""
    folders = list(folders)
    for group in GROUPS:
        for name, files in options(group, folders).items():
            if len(files) > 1:
                places = " and ".join(str(file) for file in files)
                raise UserError(f"{group}={name} is defined twice: {places}. Rename one of them.")


def describe(file: Path) -> str:
    """What a YAML file says about itself: the first line of its comment."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") and not line.startswith("# @package"):
            return line.lstrip("# ").rstrip()
    return ""


def help_text() -> str:
    """The text of --help as one of Hydra's templates, in which a dollar sign stands doubled."""
    lines, folders = [HELP], config_folders(HydraConfig.get())
    for group in GROUPS:
        if known := options(group, folders):
            width = max(map(len, known)) + 2
            lines += [f"{'+' if group == 'sweeps' else ''}{group}="]
            lines += [f"  {name:<{width}}{describe(files[0])}" for name, files in known.items()]
    return "\n".join(lines).replace("$", "$$")
