"""A config as typed objects: `setup` checks every section and builds every part, once.

A Setup is what runs, is logged and is verified; nothing is loaded or trained here. `names` gives
its name, such as 'ours (lookback.size=20) · spam · max_segments=3', for screen, MLflow and report.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from hydra.errors import InstantiationException
from hydra.utils import get_class, instantiate
from omegaconf import OmegaConf
from pydantic import ValidationError

from sdsl.config import sections
from sdsl.config.compose import composed
from sdsl.config.refusals import invalid, suggest
from sdsl.core.contract import Labeler, Method, Probe, Replay
from sdsl.core.engine import EvalConfig
from sdsl.core.lookback import Lookback
from sdsl.core.stream import Cut, StreamConfig
from sdsl.core.training import Training
from sdsl.errors import UserError

Made = TypeVar("Made")
SECTIONS = tuple(field.name for field in fields(sections.Config))
BASES: dict[str, type] = {"labeler": Labeler, "replay": Replay, "probe": Probe}
# The sections in each part of a name; STREAM leaves out those of VARIANT and SETTING. The scaler
# stands in the section of the stream, but makes another method.
VARIANT = ("ablation", "labeler", "replay", "learner", "lookback", "stream.scaler")
SETTING = (
    *("probe", "eval", "stream.gold", "stream.jitter", "stream.prefix", "stream.max_segments"),
    "dataset.calibrated_segments",
)
STREAM = ("dataset", "stream")


@dataclass(frozen=True)
class Parts:
    """A method, checked and built: all that a stream without labels needs of a config."""

    method: Method
    hidden: list[int]
    scaler: str


@dataclass(frozen=True)
class Setup(Parts):
    """A config, checked and built."""

    config: Mapping[str, Any]  # as it is logged and hashed
    overrides: Sequence[str]  # as typed: they name the run
    name: str  # of the method
    dataset: Cut
    data: sections.DataConfig
    stream: StreamConfig
    evaluation: EvalConfig
    probe: Probe
    seeds: list[int]
    tracking: sections.TrackingConfig
    checkpoint: sections.CheckpointConfig
    force: bool


@dataclass(frozen=True)
class Names:
    """The name of a config in its three parts."""

    variant: str  # 'ours (lookback.size=20)'
    stream: str  # 'spam (order=chronological)'
    setting: str  # '', 'probe=flatness, max_segments=3': how much of a stream, how it is measured

    def __str__(self) -> str:
        return " · ".join(filter(None, (self.variant, self.stream, self.setting)))


def setup(config: Mapping[str, Any], overrides: Sequence[str] = ()) -> Setup:
    """Every name, type and range of the config, before anything is loaded or recorded."""
    _check_sections(config)
    made = parts(config)
    seeds = build(sections.SeedConfig, config["seed"], "seed").values
    if len(set(seeds)) < len(seeds):
        raise UserError(f"seed.values={seeds}: expected each seed once.")
    tracking = build(sections.TrackingConfig, config["tracking"], "tracking")
    if tracking.model and made.method.labeler.privileged:
        raise UserError(
            f"tracking.model=true: method={config['method']['name']} reads true labels, so its "
            "model cannot be used on new rows. Leave tracking.model out, or choose another method."
        )
    cut = {field.name for field in fields(Cut)}
    dataset = {key: value for key, value in config["dataset"].items() if key in cut}
    return Setup(
        **vars(made),
        config=config,
        overrides=overrides,
        name=build(sections.MethodConfig, config["method"], "method").name,
        dataset=build(Cut, dataset, "dataset"),
        data=build(sections.DataConfig, config["data"], "data"),
        stream=build(StreamConfig, config["stream"], "stream"),
        evaluation=build(EvalConfig, config["eval"], "eval"),
        probe=instantiated(config["probe"], "probe", Probe),
        seeds=seeds,
        tracking=tracking,
        checkpoint=build(sections.CheckpointConfig, config["checkpoint"], "checkpoint"),
        force=config["force"],
    )


def parts(config: Mapping[str, Any]) -> Parts:
    """The method of a config, of which only the method's own sections are looked at."""
    learner = build(sections.LearnerConfig, config["learner"], "learner")
    pretrain = instantiated(learner.pretrain, "learner.pretrain", Training)
    labeler = instantiated(config["labeler"], "labeler", Labeler)
    replay = instantiated(config["replay"], "replay", Replay)
    scaler = config["stream"]["scaler"]
    for part in (labeler, replay):
        if scaler == "per_step" and part.own_units:
            raise UserError(
                f"stream.scaler=per_step does not work with {type(part).__name__}, which keeps "
                "rows or parameters of its own in scaled units. Set stream.scaler=frozen."
            )
    lookback = build(Lookback, config["lookback"], "lookback")
    return Parts(Method(labeler, replay, lookback, pretrain), learner.hidden, scaler)


def names(setup: Setup) -> Names:
    """From the method's name, the dataset's, and the overrides that were typed."""
    typed = dict(word.lstrip("+~").partition("=")[::2] for word in setup.overrides)
    chosen = sorted(typed.keys() - {"method", "dataset"})

    def listed(sections: Sequence[str], others: Sequence[str] = (), drop: str = "") -> str:
        keys = [key for key in chosen if below(key, sections) and not below(key, others)]
        return ", ".join(f"{key.removeprefix(drop)}={typed[key]}" for key in keys)

    dataset = setup.config["dataset"]["name"], listed(STREAM, VARIANT + SETTING, "dataset.")
    pairs = (setup.name, listed(VARIANT)), dataset
    variant, stream = (f"{name} ({own})" if own else name for name, own in pairs)
    return Names(variant, stream, listed(SETTING, drop="stream."))


def below(key: str, sections: Sequence[str]) -> bool:
    """Whether the key of an override, such as 'labeler.rounds' or 'labeler', is of a section."""
    return f"{key}.".replace("@", ".").startswith(tuple(f"{section}." for section in sections))


def component(group: str, name: str, **changes: Any) -> Any:
    """A labeler, replay or probe as conf/ has it, some values changed."""
    section = OmegaConf.merge(composed(f"{group}={name}")[group], changes)
    return instantiated(OmegaConf.to_container(section), group, BASES[group])


def instantiated(section: Any, where: str, base: type[Made]) -> Made:
    """The object that a section's `_target_` makes; `where` is its dotted name, for refusals."""
    if not isinstance(section, Mapping) or not isinstance(section.get("_target_"), str):
        raise UserError(f"{where} needs a _target_: the dotted name of its {base.__name__} class.")
    try:
        made = instantiate(OmegaConf.create({where: section})[where], _convert_="all")
    except InstantiationException as error:
        raise _refused(error, section, where) from error
    if not isinstance(made, base):
        raise UserError(f"{where}._target_={section['_target_']}: expected a {base.__name__}.")
    return made


def _refused(error: InstantiationException, section: Mapping[str, Any], where: str) -> UserError:
    """Hydra names the node that could not be made as `full_key: labeler.fit`."""
    found = re.search(r"full_key: (\S+)", str(error))
    path = (found[1] if found else where).removeprefix(where).strip(".")
    for key in filter(None, path.split(".")):
        section = section[key]
    full, cause = ".".join(filter(None, (where, path))), error.__cause__
    if isinstance(cause, ValidationError):
        return invalid(cause, get_class(section["_target_"]), full)
    if isinstance(cause, UserError):
        return cause
    causes = _causes(error)
    if broken := next((e for e in causes if isinstance(e, SyntaxError)), None):
        return UserError(
            f"{broken.filename}, line {broken.lineno}: {broken.msg} ({full}._target_)."
        )
    why = next((str(e) for e in causes if isinstance(e, ImportError)), "")
    return UserError(f"{full}._target_={section['_target_']}: {why or cause or error}")


def _causes(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *_causes(error.__cause__)]


def build(cls: type[Made], section: Mapping[str, Any], where: str) -> Made:
    """A section as a strict dataclass."""
    try:
        return cls(**section)
    except ValidationError as error:
        raise invalid(error, cls, where) from None


def _check_sections(config: Mapping[str, Any]) -> None:
    for key in config:
        own = key == "tags" or not isinstance(config[key], Mapping)  # +note=hi, +tags.owner=me
        if key not in SECTIONS and not own:
            raise UserError(f"The config has no section '{key}'. {suggest(str(key), SECTIONS)}")
    for key in SECTIONS:
        if key != "force" and not isinstance(config.get(key), Mapping):
            raise UserError(f"The section '{key}' must hold settings, not {config.get(key)!r}.")
    if missing := sorted(OmegaConf.missing_keys(dict(config))):
        raise UserError(f"{missing[0]} has no value: set {missing[0]}=...")
    if inside := set(config["method"]) & {*SECTIONS, "defaults"}:
        raise UserError(
            f"The method's file sets {', '.join(sorted(inside))} inside the section 'method'. A "
            "method sets values of other sections: let its first line be '# @package _global_'."
        )
