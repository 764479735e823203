"""One living process for each run: who may train it, who waits, who takes over.

A run that says RUNNING is a claim on its run_key. Who wants to train first makes such a run, and
then looks at all runs of the key. It trains only after a look that shows no other living claim
and no finished run. Of two who want the same run, the one whose claim was written later sees the
other's, whatever their clocks say: so never do both train. If both see each other, the older claim
(by start_time and run_id) stays and looks again, for about a second; the younger one is deleted,
and its owner waits. If the other claim is still there after that second, somebody trains under it
already: then the older one is deleted too.

A claim is worth nothing when its process has ended (sdsl.tracking.heartbeat says how that is
known); then it is marked KILLED, and whoever claims the key next takes over.

The store must show a run to everybody who looks after it was made. SQLite does, and a server with
PostgreSQL does; a server that searches in a read replica (MLflow's read_db_uri) does not.
"""

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

from mlflow.entities import Run

from sdsl.tracking import groups
from sdsl.tracking.client import PatientClient
from sdsl.tracking.heartbeat import Watch
from sdsl.tracking.process import Process, this_process
from sdsl.tracking.provenance import ALONE, JobTags

LOOKS = (0.0, 0.1, 0.3, 0.9)  # seconds before each look at the rivals
K = TypeVar("K", bound=Hashable)


class Claims:
    """What stands in the way of a run, as far as the runs of one experiment tell."""

    def __init__(self, client: PatientClient, experiment: str):
        self.client, self.experiment = client, experiment
        self.watch = Watch()
        self.broken: set[str] = set()  # finished runs whose files are not whole
        self.adopted: list[str] = []  # names of runs whose process was found dead

    def holders(self, group: str, keys: Iterable[str], job: JobTags) -> dict[str, Process]:
        """run_key -> the living process that makes that run now."""
        held: dict[str, Process] = {}
        for key, runs in self.standing(group, set(keys), job).items():
            for run in runs:
                maker = Process.of(run.data.tags)
                if maker and run.info.status == "RUNNING":
                    held[key] = maker
        return held

    def standing(
        self, group: str, keys: set[str], job: JobTags, mine: Iterable[str] = ()
    ) -> dict[str, list[Run]]:
        """run_key -> its claims that live, mine too, and its finished runs that are whole."""
        # One search, so that a run which ends meanwhile is seen as claimed or as finished.
        one = f"tags.run_key = '{next(iter(keys))}'" if len(keys) == 1 else ""
        where = f"{one or groups.of(group)} and tags.kind = 'run' and {groups.GOOD}"
        found: dict[str, list[Run]] = {}
        for run in self.client.search_runs([self.experiment], where, max_results=groups.MOST):
            key = run.data.tags.get("run_key", "")
            if key in keys and self.stands(run, job, mine):
                found.setdefault(key, []).append(run)
        return found

    def stands(self, run: Run, job: JobTags, mine: Iterable[str]) -> bool:
        """Whether a run, FINISHED or RUNNING, is mine or in the way of mine."""
        if run.info.status == "FINISHED":
            return run.info.run_id not in self.broken
        return run.info.run_id in mine or self._lives(run, job)

    def _lives(self, run: Run, job: JobTags) -> bool:
        """Whether a RUNNING run is the claim of another living process; a dead one's is adopted.

        What this process left, or an earlier try of the same job, is nobody's claim.
        """
        maker = Process.of(run.data.tags)
        again = job.sweep != ALONE.sweep and job.tags().items() <= run.data.tags.items()
        if maker is None or maker == this_process() or again:
            return False
        return not self.adopt([run])

    def adopt(self, runs: Iterable[Run]) -> list[str]:
        """Marks what has lost its process as KILLED; the names of those runs."""
        lost = [run for run in runs if self.watch.lost(run)]
        for run in lost:
            self.client.set_terminated(run.info.run_id, "KILLED")
        names = [run.info.run_name for run in lost]
        self.adopted += names
        return names


def settle(
    mine: Mapping[K, str],
    look: Callable[[], Mapping[K, list[Run]]],
    withdraw: Callable[[K], object],
) -> None:
    """Withdraws those of my claims (key -> run_id) that are not mine to keep.

    `look` gives what stands in the way of a key: living claims, mine too, and finished runs.
    """
    unsure = dict(mine)
    for pause in LOOKS:
        time.sleep(pause)
        found = look()
        for key, run_id in list(unsure.items()):
            here = found.get(key, [])
            if [run.info.run_id for run in here] == [run_id]:
                del unsure[key]  # nobody else: it is mine
            elif not _is_first(run_id, here):
                del unsure[key]
                withdraw(key)
        if not unsure:
            return
    for key in unsure:
        withdraw(key)


def _is_first(run_id: str, found: list[Run]) -> bool:
    """Whether this claim is the oldest, and there is no finished run."""
    if not found or any(run.info.status == "FINISHED" for run in found):
        return False
    return min(found, key=lambda run: (run.info.start_time, run.info.run_id)).info.run_id == run_id
