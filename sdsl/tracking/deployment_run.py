"""The MLflow run of a deployment: one, continued from call to call, with a curve per number."""

import math
import time
from collections.abc import Mapping, Sequence

from mlflow.entities import Metric, Param

from sdsl.tracking import provenance
from sdsl.tracking.address import store_uri
from sdsl.tracking.client import PatientClient, experiment_id
from sdsl.tracking.metric_names import mlflow_name

ALWAYS = "rows"  # every segment has it: it shows which segments are logged
BATCH = 1000  # MLflow's limit on one call


class DeploymentRun:
    """Found by the deployment's id, or made."""

    def __init__(self, uri: str | None, experiment: str, deployment: str, name: str):
        self.client = PatientClient(store_uri(uri))
        self.experiment = experiment_id(self.client, experiment)
        found = self.client.search_runs(
            [self.experiment], f"tags.deployment = '{deployment}'", max_results=1
        )
        self.is_new = not found
        if found:
            self.id = found[0].info.run_id
            self.client.update_run(self.id, "RUNNING")
        else:
            tags = {**provenance.tags(), "kind": "deployment", "deployment": deployment}
            text = {key: str(value) for key, value in tags.items()}
            self.id = self.client.create_run(self.experiment, run_name=name, tags=text).info.run_id

    def describe(self, params: Mapping[str, object], columns: Sequence[str]) -> None:
        """What the deployment is, once."""
        self.client.log_batch(self.id, params=[Param(k, str(v)[:6000]) for k, v in params.items()])
        self.client.log_text(self.id, "\n".join(columns) + "\n", "columns.txt")

    def log(self, segments: Sequence[Mapping[str, float]]) -> None:
        """The numbers of all segments, 1, 2, ...; what is logged already stays as it is."""
        known = {point.step for point in self.client.get_metric_history(self.id, ALWAYS)}
        now = int(time.time() * 1000)
        points = [
            Metric(mlflow_name(name), float(value), now, step)
            for step, numbers in enumerate(segments, 1)
            if step not in known
            # The mark comes last: a segment that has it is complete.
            for name, value in sorted(numbers.items(), key=lambda pair: pair[0] == ALWAYS)
            if math.isfinite(value)
        ]
        for at in range(0, len(points), BATCH):
            self.client.log_batch(self.id, metrics=points[at : at + BATCH])

    def note(self, name: str, text: str) -> None:
        """A file of the run, replaced at each call."""
        self.client.log_text(self.id, text, name)

    def end(self, status: str = "FINISHED") -> None:
        self.client.set_terminated(self.id, status)
