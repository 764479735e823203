"""python -m sdsl.label gold=FILE files=FILES label=COLUMN out=FOLDER: labels for new files.

Each file is a segment. Its labelled copy is written to `out`, and the state; the same command again
does only what is new. All settings are in conf/command/label.yaml.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig, OmegaConf

from sdsl import interrupt
from sdsl.config import refusals, seeds
from sdsl.config.compose import home
from sdsl.errors import UserError
from sdsl.launch.compiling import announced
from sdsl.use.config import TEXTS, label_settings
from sdsl.use.monitor import UNSEEN

if TYPE_CHECKING:  # torch and pandas take seconds, and --help should not
    from sdsl.datasets.files import Input
    from sdsl.use.deployment import Deployment

SET_ASIDE, ALARM = 3, 4  # exit codes; 2: refused
FEW = 5  # rows of a class in gold
SHOWN = ("confidence", "abstained", "drift", "accuracy", "balanced_accuracy")  # if there


def main() -> None:
    os.environ |= {"SDSL_HOME": str(home()), "HYDRA_FULL_ERROR": "1"}  # Hydra raises its refusals
    interrupt.install()
    found, status = list[DictConfig](), 0
    compose = hydra.main(config_path=str(home() / "conf"), config_name="config", version_base="1.3")
    try:
        words = [_quoted(word) for word in seeds.rewrite(sys.argv[1:])]
        sys.argv[1:] = ["+command=label", *words]
        compose(lambda config: found.append(config))()  # nothing for --help
        for config in found:
            status = run(OmegaConf.to_container(config, resolve=True))  # type: ignore[arg-type]
    except refusals.REFUSED as error:
        print(refusals.message(error), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        interrupt.leave(stop)
    finally:
        del os.environ["HYDRA_FULL_ERROR"]
    if status:
        sys.exit(status)


def run(config: dict[str, Any]) -> int:
    """Label all that is new; with watch=true, all that comes, until stopped. The exit code."""
    from sdsl.use.deployment import opened

    given, seed = label_settings(config)
    with announced(note), opened(given, config, seed) as deployment:
        screen = Screen(deployment)
        if checked := deployment.check():
            told = "{checked_accuracy:.3f} ({checked_low:.3f} to {checked_high:.3f})"
            told = f"{told}, estimated {{checked_estimate:.3f}}, by {{checked:.0f}} checked labels"
            screen.result(f"checked accuracy {told.format(**checked)}")
            if alarm := deployment.follower.checks.alarm():
                screen.result(f"  warning: {alarm}")
        try:
            for i, found in enumerate(deployment.looks(given)):
                if screen.label(found, given.segment_size) or not i:
                    screen.log(config["tracking"]["uri"], config["tracking"]["experiment"])
                if given.strict and screen.alarms:
                    return ALARM
        except KeyboardInterrupt:
            if not given.watch:  # a watch is meant to be stopped
                raise
        aside = {one.name for one in deployment.looked} & {*deployment.book.aside}
        if not screen.lines:
            done = f"{len(deployment.book.done)} files are labelled in {given.out}"
            more = f", {len(aside)} are still set aside" if aside else ""
            print(f"Nothing new: {done}{more}.")
        return SET_ASIDE if aside else 0


def _quoted(word: str) -> str:
    """Names of files and columns may hold letters and signs that Hydra wants in quotes."""
    key, _, text = word.partition("=")
    return f'{key}="{text}"' if key in TEXTS and text[:1] not in ("", "[", "'", '"') else word


class Screen:
    """Results go to stdout, notes to stderr."""

    def __init__(self, deployment: "Deployment"):
        self.deployment = deployment
        self.changed: set[str] = set()  # files that were mentioned
        self.lines = self.alarms = 0  # lines of results, segments with an alarm
        self.estimated = False  # whether there was an estimated accuracy among them
        if not deployment.book.done:
            self.begin()

    def begin(self) -> None:
        """Says what gold is and how it is read."""
        names, gold = self.deployment.follower.monitor.classes, self.deployment.gold
        counts = self.deployment.follower.gold.y.bincount().tolist()
        rows = [f"{n} {name}" for name, n in zip(names, counts, strict=True)]
        lines = [f"Gold: {len(gold.y)} rows: {', '.join(rows)}."]
        if gold.left_out:
            lines.append(f"Rows without a label, left out of gold: {gold.left_out}.")
        if few := [row for row, n in zip(rows, counts, strict=True) if n < FEW]:
            why = f"a class with fewer than {FEW} rows of gold is hardly learnt"
            lines.append(f"Warning: {', '.join(few)}: {why}. Give more if you can.")
        note(*lines)
        note("Columns, as gold has them:", *self.deployment.plan.told())
        note("In the copies, a column `label` of a file is called `label_given`.")

    def label(self, found: "Sequence[Input]", size: int | None) -> bool:
        """Label all new files of these; whether there were any."""
        deployment, before = self.deployment, self.lines
        if changed := deployment.changed(found) - self.changed:
            names = ", ".join(sorted(changed))
            note(f"{names}: changed after it was labelled; to label it, give it a new name.")
            self.changed |= changed
        waiting = len(deployment.new(found))
        for files, records, refused in deployment.run(found, size):
            waiting -= files
            if refused:
                self.result(f"set aside: {refused}")
            for record in records:
                numbers = [f"{k} {record[k]:.3f}" for k in SHOWN if k in record]
                rows = f"{record['rows']} rows in {record['seconds']:.1f} s"
                if "estimated_accuracy" in record:
                    low, high = record["estimated_low"], record["estimated_high"]
                    found = record["estimated_accuracy"]
                    numbers.insert(0, f"estimated accuracy {found:.3f} ({low:.3f} to {high:.3f})")
                    self.estimated = True
                self.result(f"{record['files']}: {', '.join([rows, *numbers])}")
                self.alarms += bool(record["warnings"])
                if record["remarks"]:
                    self.result(f"  remark: {record['remarks']}")
                if record["warnings"]:
                    self.result(f"  warning: {record['warnings']}")
            if waiting:
                note(f"files to go: {waiting}")
        if self.estimated:
            note(UNSEEN)
        return self.lines > before

    def result(self, text: str) -> None:
        print(text, flush=True)
        self.lines += 1

    def log(self, uri: str | None, experiment: str) -> None:
        """Log all segments to MLflow and say how to view them; an error ends no labelling."""
        self.deployment.show()
        from sdsl.tracking.deployment import log_deployment  # MLflow takes seconds

        interrupt.install()  # again: MLflow brings polars along, which takes the handlers
        deployment, follower = self.deployment, self.deployment.follower
        method, records = follower.config["method"]["name"], follower.records
        warnings = [one["warnings"] for one in records]
        lines = {
            "columns.txt": deployment.plan.told(),
            "warnings.txt": [f"segment {i}: {text}" for i, text in enumerate(warnings, 1) if text],
            "estimated_accuracy.txt": [UNSEEN],
            "set_aside.txt": [reason for _, reason in deployment.book.aside.values()],
        }
        texts = {name: "\n".join([*some, ""]) for name, some in lines.items()}
        params = {"method": method, "seed": follower.seed, "out": deployment.out.absolute()}
        flags = [one | {"warnings": float(one["warnings"] != "")} for one in records]
        numbers = [{k: v for k, v in one.items() if not isinstance(v, str)} for one in flags]
        name, key = f"{method} · {deployment.out.name}", deployment.book.id
        try:
            run_id, view = log_deployment(uri, experiment, key, name, params, texts, numbers)
            note(f"MLflow run {run_id}. {view}")
        except UserError as error:
            note(f"Not logged, the next call tries again: {error}")


def note(*texts: str) -> None:
    print(*texts, sep="\n  ", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
