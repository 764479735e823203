"""What a run is called: its method and its dataset, and the settings that are not those of conf/.

A run of a method as conf/ has it is called by the method's name: 'ours'. Any setting that differs
is added: 'ours (labeler=confidence)'. Settings are compared as the ledger logs them, as strings.
The table on the screen, MLflow and the report use the same names.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sdsl.config import shipped
from sdsl.config.identity import MEASURED, METHOD, STREAM, settings
from sdsl.config.shipped import Folders, Params, as_logged, known_methods

__all__ = ["as_logged", "known_methods"]

METHOD_NAME, DATASET_NAME = "method.name", "dataset.name"
PARTS = ("labeler", "replay")
# Settings that make another method although they stand in another section: how its inputs are
# scaled, and Acc_T over fewer columns of R, which is another number. (eval.every only adds rows
# of R that the metrics do not need.)
ALSO_METHOD = ("stream.scaler", "eval.columns")
# The report shows these beside a stream's name: the setting, and the number of segments T.
SHOWN_BESIDE_THE_NAME = ("stream.prefix", "stream.max_segments", "dataset.calibrated_segments")


@dataclass(frozen=True)
class Names:
    """What the runs of one config are called; two configs differ in at least one of the three."""

    variant: str  # 'ours (lookback.size=20)'
    stream: str  # 'spam (order=chronological)'
    setting: str  # how much of the stream, measured how: '', 'max_segments=3, probe=flatness'

    def __str__(self) -> str:
        return " · ".join(filter(None, (self.variant, self.stream, self.setting)))


def names(method: str, dataset: str, params: Params, folders: Folders = ()) -> Names:
    """`folders`: where to look for YAML files besides conf/."""
    return Names(
        method_label(method, params, folders),
        stream_label(dataset, params, folders),
        setting_label(dataset, params, folders),
    )


def method_label(method: str, params: Params, folders: Folders = ()) -> str:
    """'ours', or 'ours (labeler=confidence)'. `params`: the run's settings as logged.

    A run with the settings of another method is called by that method's name. A method that conf/
    does not have keeps its name, whatever its settings.
    """
    chosen = method_settings(params)
    base = shipped_method(method, folders)
    if not base or not differences(chosen, base):
        return method
    for other in known_methods(folders):
        alike = _has_parts(other, chosen, folders)
        if alike and not differences(chosen, shipped_method(other, folders)):
            return other
    parts, choices = [], []
    for group in PARTS:
        name = chosen.get(f"{group}.name", "")
        if name != base.get(f"{group}.name"):
            parts.append(f"{group}={name}")
            choices.append(f"{group}={shipped.option(group, name, folders) or name}")
    # Another labeler or replay brings its own settings. Only those that were changed are named.
    base = shipped_method(method, folders, *choices) or base
    said = {f"{group}.name" for group in PARTS}
    parts += _named(differences(chosen, base), without=said)
    return _with(method, parts)


def stream_label(dataset: str, params: Params, folders: Folders = ()) -> str:
    """'spam', or 'spam (order=chronological)'. `params`: the run's settings as logged."""
    option = shipped.option("dataset", dataset, folders)
    if option is None:
        return dataset
    base = stream_settings(shipped.params(folders, f"dataset={option}"))
    said = shipped.in_the_name("dataset", option, folders)
    return _with(dataset, _named(differences(stream_settings(params), base), without=said))


def setting_label(dataset: str, params: Params, folders: Folders = ()) -> str:
    """'', or 'max_segments=3, probe=flatness': what is no part of method and stream."""
    option = shipped.option("dataset", dataset, folders)
    probe = params.get("probe.name", "none")
    choices = [f"dataset={option}"] if option else []
    base = shipped.params(folders, *choices)
    parts = []
    if probe != base.get("probe.name"):
        parts.append(f"probe={probe}")
        choices.append(f"probe={shipped.option('probe', probe, folders) or probe}")
        base = shipped.params(folders, *choices) or base
    measured = settings(params, MEASURED) | {
        key: params[key] for key in SHOWN_BESIDE_THE_NAME if key in params
    }
    said = {"probe.name", *ALSO_METHOD}
    return ", ".join([*parts, *_named(differences(measured, base), without=said)])


def recorded_label(method: str, params: Params, recorded: str | None) -> str:
    """The label of a run read back: by its settings, unless it used somebody's own YAML files.

    Only who made the run had those at hand, and recorded the label.
    """
    foreign = any("." in params.get(f"{group}.name", "") for group in PARTS)
    if recorded and (foreign or method not in known_methods()):
        return recorded
    return method_label(method, params)


def recorded_stream(dataset: str, params: Params, recorded: str | None) -> str:
    """The same for its stream."""
    foreign = shipped.option("dataset", dataset, ()) is None
    return recorded if recorded and foreign else stream_label(dataset, params)


def config_sha256(params: Params) -> str:
    """A name for a method on a stream: the same for every seed and probe, in every store."""
    config = settings(params, (*METHOD, *STREAM)) | method_settings(params)
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def differences(chosen: Params, base: Params) -> dict[str, str]:
    """The settings of a run that conf/ has otherwise.

    A setting that did not exist yet when an older run was made is no difference.
    """
    return {key: value for key, value in chosen.items() if base.get(key) != value}


def method_settings(params: Params) -> dict[str, str]:
    """The settings that make a method. Its name is none of them: a label may be another name."""
    chosen = {k: v for k, v in settings(params, METHOD).items() if k != METHOD_NAME}
    also = {key: params[key] for key in ALSO_METHOD if key in params}
    if also.get("eval.columns") == "auto":  # Acc_T is then over all columns, as with null
        also["eval.columns"] = "None"
    return chosen | also


def stream_settings(params: Params) -> dict[str, str]:
    """The settings that make a stream, without what is shown beside its name."""
    hidden = (DATASET_NAME, *SHOWN_BESIDE_THE_NAME, *ALSO_METHOD)
    return {k: v for k, v in settings(params, STREAM).items() if k not in hidden}


def shipped_method(method: str, folders: Folders = (), *changes: str) -> dict[str, str]:
    """The settings of `method=<method> <changes>`; empty if conf/ has no such method."""
    return method_settings(shipped.params(folders, f"method={method}", *changes))


def _has_parts(method: str, chosen: Params, folders: Folders) -> bool:
    """Whether a method may be the one: composing it, which takes longer, would tell for sure."""
    parts = shipped.parts_of(method, folders)
    pairs = ((parts.get(group), chosen.get(f"{group}.name")) for group in PARTS)
    return all(part is None or part == name for part, name in pairs)


def _named(changed: Mapping[str, str], without: Iterable[str]) -> list[str]:
    kept = sorted((key, value) for key, value in changed.items() if key not in without)
    short = {key: key.removeprefix("dataset.") for key, _ in kept}
    short |= {key: key.removeprefix("stream.") for key, _ in kept if key in SHOWN_BESIDE_THE_NAME}
    return [f"{short[key]}={value}" for key, value in kept]


def _with(name: str, parts: list[str]) -> str:
    return f"{name} ({', '.join(parts)})" if parts else name
