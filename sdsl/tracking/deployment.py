"""The MLflow run of a deployment: one, continued from call to call, with a curve per number."""

import math
from collections.abc import Mapping, Sequence

from mlflow.entities import Param

from sdsl.tracking import provenance
from sdsl.tracking.address import view
from sdsl.tracking.record import LONGEST_PARAM, legal, log, metric
from sdsl.tracking.store import Store

MARK = "rows"  # logged last, in every segment: a segment that has it is complete


def log_deployment(
    uri: str | None,
    experiment: str,
    deployment: str,
    name: str,
    params: Mapping[str, object],
    texts: Mapping[str, str],
    segments: Sequence[Mapping[str, float]],
) -> tuple[str, str]:
    """(run id, the sentence that says how to open it).

    Finds the run by the deployment's id or makes it; logs the numbers of those of the segments 1,
    2, ... that it lacks, and replaces the files `texts` (name -> content).
    """
    store = Store(uri, experiment)
    client, mine = store.client, f"tags.deployment = '{deployment}'"
    with store.lock(f"deployment-{deployment}"):
        if found := client.search_runs([store.experiment_id], mine, max_results=1):
            run_id = found[0].info.run_id
        else:
            tags = provenance.tags() | {"kind": "deployment", "deployment": deployment}
            run_id = client.create_run(store.experiment_id, run_name=name, tags=tags).info.run_id
            given = [Param(key, str(v)[:LONGEST_PARAM]) for key, v in params.items()]
            log(client, run_id, [], given)
        known = {point.step for point in client.get_metric_history(run_id, MARK)}
        points = [
            metric(legal(key), value, step)
            for step, numbers in enumerate(segments, 1)
            if step not in known
            for key, value in sorted(numbers.items(), key=lambda pair: pair[0] == MARK)
            if math.isfinite(value)
        ]
        log(client, run_id, points, [])
        for file, text in texts.items():
            client.log_text(run_id, text, file)
        client.set_terminated(run_id, "FINISHED")
    return run_id, view(store.uri, store.experiment_id, [run_id])
