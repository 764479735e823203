"""The curves of a deployment in MLflow; labelling never waits for them to succeed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sdsl.errors import UserError
from sdsl.tracking.looking import look_at, run_ids
from sdsl.use.deployment import Deployment
from sdsl.use.settings import Tracking

if TYPE_CHECKING:  # it brings MLflow, which takes seconds
    from sdsl.tracking.deployment_run import DeploymentRun


class Curves:
    """One run for all calls. What a call could not log, the next one does."""

    def __init__(self, deployment: Deployment, tracking: Tracking, say: Callable[[str], None]):
        self.deployment, self.tracking, self.say = deployment, tracking, say
        self.run: DeploymentRun | None = None

    def log(self) -> None:
        """Every segment that is not logged yet, and the files that were set aside."""
        book = self.deployment.book
        try:
            run = self._run()
            run.log(self.numbers())
            if book.aside:
                lines = [f"{reason}\n" for _, reason in book.aside.values()]
                run.note("set_aside.txt", "".join(lines))
            warned = [
                f"segment {i}: {'; '.join(record.warnings)}\n"
                for i, record in enumerate(self.deployment.model.records, 1)
                if record.warnings
            ]
            if warned:
                run.note("warnings.txt", "".join(warned))
        except UserError as error:
            self.say(f"Not logged, the next call tries again: {error}")

    def numbers(self) -> list[dict[str, float]]:
        """Of each segment, name -> number."""
        model, found = self.deployment.model, []
        for segment, record in zip(self.deployment.book.segments, model.records, strict=True):
            more = {
                "accuracy": segment.accuracy,
                "balanced_accuracy": segment.balanced,
                "warnings": float(len(record.warnings)),
            }
            found.append(record.numbers(model.classes) | more)
        return found

    def end(self, labelled: int) -> None:
        """The run and where to look at it, whether or not this call labelled any segment."""
        if self.run is not None:
            try:
                self.run.end()
                where = f"attributes.run_id = '{self.run.id}'"
                self.say(run_ids([self.run.id], min(labelled, 1)))
                self.say(look_at(self.run.client.uri, self.run.experiment, where))
            except UserError as error:
                self.say(f"The MLflow run could not be ended: {error}")

    def _run(self) -> "DeploymentRun":
        from sdsl.tracking.deployment_run import DeploymentRun

        if self.run is None:
            deployment = self.deployment
            name = f"{deployment.params['method']} · {deployment.out.name}"
            tracking = self.tracking
            self.run = DeploymentRun(tracking.uri, tracking.experiment, deployment.book.id, name)
            if self.run.is_new:
                params = deployment.params | {
                    "out": deployment.out.absolute(),
                    "classes": len(deployment.model.classes),
                    "features": len(deployment.plan.features),
                }
                self.run.describe(params, deployment.plan.told())
        return self.run
