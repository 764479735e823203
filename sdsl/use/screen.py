"""Output of a deployment: a line per segment, and the log in MLflow."""

from collections.abc import Sequence

from rich.console import Console

from sdsl.datasets.files import Input
from sdsl.errors import UserError
from sdsl.use.deployment import Deployment

SHOWN = ("confidence", "drift", "accuracy", "balanced_accuracy")  # where they are numbers


class Screen:
    """Results go to stdout, notes to stderr."""

    def __init__(self, deployment: Deployment):
        self.deployment, self.console = deployment, Console(stderr=True)
        self.changed: set[str] = set()  # files that were mentioned
        self.lines = 0  # of results
        if not deployment.book.done:
            self.note("Columns, as gold has them:", *(f"  {c}" for c in deployment.plan.told()))

    def note(self, *texts: str) -> None:
        for text in texts:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def result(self, text: str) -> None:
        print(text, flush=True)
        self.lines += 1

    def label(self, found: Sequence[Input], size: int | None) -> bool:
        """Label all new files of these; whether there were any."""
        deployment, before = self.deployment, self.lines
        if changed := set(deployment.changed(found)) - self.changed:
            names = ", ".join(sorted(changed))
            self.note(f"{names}: changed after it was labelled; to label it, give it a new name.")
            self.changed |= changed
        waiting = len(deployment.new(found))
        for files, records, refused in deployment.run(found, size):
            waiting -= files
            if refused:
                self.result(f"set aside: {refused}")
            for record in records:
                numbers = [f"{k} {record[k]:.3f}" for k in SHOWN if record[k] == record[k]]
                rows = f"{record['rows']} rows in {record['seconds']:.1f} s"
                self.result(f"{record['files']}: {', '.join([rows, *numbers])}")
                if record["warnings"]:
                    self.result(f"  warning: {record['warnings']}")
            if waiting:
                self.note(f"files to go: {waiting}")
        return self.lines > before

    def log(self, uri: str | None, experiment: str) -> None:
        """Log all segments to MLflow and say how to view them; an error ends no labelling."""
        from sdsl.tracking.deployment import log_deployment  # MLflow takes seconds

        deployment, model = self.deployment, self.deployment.model
        records = model.follower_.records
        warned = ((i, r["warnings"]) for i, r in enumerate(records, 1) if r["warnings"])
        texts = {
            "columns.txt": "".join(f"{text}\n" for text in deployment.plan.told()),
            "warnings.txt": "".join(f"segment {i}: {text}\n" for i, text in warned),
            "set_aside.txt": "".join(f"{why}\n" for _, why in deployment.book.aside.values()),
        }
        params = {"method": model.method, "seed": model.seed, "out": deployment.out.absolute()}
        segments = [r | {"warnings": float(r["warnings"] != "")} for r in records]
        numbers = [{k: v for k, v in r.items() if not isinstance(v, str)} for r in segments]
        name, key = f"{model.method} · {deployment.out.name}", deployment.book.id
        try:
            run_id, view = log_deployment(uri, experiment, key, name, params, texts, numbers)
            self.note(f"MLflow run {run_id}. {view}")
        except UserError as error:
            self.note(f"Not logged, the next call tries again: {error}")
