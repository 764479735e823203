"""Output of a deployment: a line per segment, and the log in MLflow."""

import sys
from collections.abc import Sequence

from sdsl.datasets.files import Input
from sdsl.errors import UserError
from sdsl.use.deployment import Deployment

SHOWN = ("confidence", "drift", "accuracy", "balanced_accuracy")  # where a record has them


class Screen:
    """Results go to stdout, notes to stderr."""

    def __init__(self, deployment: Deployment):
        self.deployment = deployment
        self.changed: set[str] = set()  # files that were mentioned
        self.lines = 0  # of results
        if not deployment.book.done:
            note("Columns, as gold has them:", *deployment.plan.told())

    def label(self, found: Sequence[Input], size: int | None) -> bool:
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
                self.result(f"{record['files']}: {', '.join([rows, *numbers])}")
                if record["warnings"]:
                    self.result(f"  warning: {record['warnings']}")
            if waiting:
                note(f"files to go: {waiting}")
        return self.lines > before

    def result(self, text: str) -> None:
        print(text, flush=True)
        self.lines += 1

    def log(self, uri: str | None, experiment: str) -> None:
        """Log all segments to MLflow and say how to view them; an error ends no labelling."""
        from sdsl.tracking.deployment import log_deployment  # MLflow takes seconds

        deployment, records = self.deployment, self.deployment.follower.records
        method, seed = deployment.follower.config["method"]["name"], deployment.follower.seed
        warned = [(i, one["warnings"]) for i, one in enumerate(records, 1) if one["warnings"]]
        lines = {
            "columns.txt": deployment.plan.told(),
            "warnings.txt": [f"segment {i}: {text}" for i, text in warned],
            "set_aside.txt": [reason for _, reason in deployment.book.aside.values()],
        }
        texts = {name: "\n".join([*some, ""]) for name, some in lines.items()}
        params = {"method": method, "seed": seed, "out": deployment.out.absolute()}
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
