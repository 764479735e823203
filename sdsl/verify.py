"""Same config, same bits: python -m sdsl.verify RUN_ID reruns a logged run and compares its R."""

import argparse
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from omegaconf import OmegaConf

from sdsl.errors import UserError

WATCHED = ("data_source", "data_sha256", "stream_sha256", "code_sha256", "git_sha", "dirty")
MACHINE = ("torch", "numpy", "sklearn", "python", "cpu")


@dataclass(frozen=True)
class Verdict:
    name: str
    same: bool
    cells: int  # of R that differ
    differences: list[str]  # in data, code, versions or machine


def verify(run_id: str, uri: str | None = None) -> Verdict:
    """Rerun a logged run from its stored config."""
    from mlflow.exceptions import MlflowException

    from sdsl import experiment
    from sdsl.tracking import identity, provenance
    from sdsl.tracking.client import PatientClient, store_uri

    if not re.fullmatch(r"[0-9a-f]{32}", run_id):
        raise UserError(f"'{run_id}' is not a run id: expected 32 hexadecimal digits, from the UI.")
    client = PatientClient(store_uri(uri))
    try:
        run = client.get_run(run_id)
        if run.info.status != "FINISHED" or run.data.tags.get("kind") != "run":
            raise UserError(f"Run {run_id} is not a finished run of one seed.")
        with tempfile.TemporaryDirectory() as folder:
            config_file, R_file = (
                Path(client.download_artifacts(run_id, name, folder))
                for name in ("config.yaml", "R.npy")
            )
            config = OmegaConf.to_container(OmegaConf.load(config_file))
            logged = np.load(R_file, allow_pickle=False)
    except MlflowException as error:
        raise UserError(f"Run {run_id}: {error.message}") from None
    table = experiment.load(config)
    outcome = experiment.run(config, config["seed"]["values"], table)[1]
    R = outcome.R[0, 1:]
    now = provenance.tags() | {
        "data_source": table.source,
        "data_sha256": table.sha256,
        "stream_sha256": experiment.digest(table),
        "code_sha256": identity.code_sha256(config),
    }
    then = run.data.tags
    differences = [
        f"{key}: was {then.get(key)}, is {now[key]}"
        for key in (*WATCHED, *MACHINE)
        if then.get(key) != now[key]
    ]
    fits = R.shape == logged.shape
    cells = int((logged != R).sum() - (np.isnan(R) & np.isnan(logged)).sum()) if fits else R.size
    same = fits and R.tobytes() == logged.tobytes()
    return Verdict(run.info.run_name, same, cells, differences)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sdsl.verify", description=__doc__)
    parser.add_argument("run_id", metavar="RUN_ID", help="the 32 digits that MLflow shows")
    try:
        verdict = verify(parser.parse_args().run_id, os.environ.get("MLFLOW_TRACKING_URI"))
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    if verdict.same:
        print(f"{verdict.name}: R is the same, bit for bit.")
    else:
        print(f"{verdict.name}: R differs in {verdict.cells} cells.")
    why = "What differs besides" if verdict.same else "What differs"
    print(f"{why}: " + ("nothing that is recorded." if not verdict.differences else ""))
    for line in verdict.differences:
        print(f"  {line}")
    sys.exit(0 if verdict.same else 1)


if __name__ == "__main__":
    main()
