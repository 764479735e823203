"""Jobs that fail in every way beside one that does not: what any launcher owes the user then."""

import sys
from pathlib import Path

from cli import TINY, call, runs
from mlflow import MlflowClient

from sdsl.tracking.client import store_uri

CODE = """
import os, resource, signal
from dataclasses import dataclass
from pathlib import Path
import torch
from sdsl.labelers.none import NoLabels

@dataclass
class Bomb(NoLabels):
    how: str = "raise"

    def start(self, gold, learner, draws):
        with Path("tries.txt").open("a") as file:
            file.write(f"{self.how} ")
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "memory":
            limit = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (2**34, limit[1]))
            try:
                torch.zeros(2**34)
            finally:
                resource.setrlimit(resource.RLIMIT_AS, limit)
        raise ValueError("a bad labeler")
"""
CAUSES = {"kill": "", "raise": "ValueError: a bad labeler", "memory": "can't allocate memory"}


def explode(here: Path, monkeypatch, capfd, *words: str) -> dict[str, str]:
    """Sweep over the bombs and one sound job; how -> the cause that was told."""
    (here / "minefield").mkdir()
    (here / "minefield" / "bomb.py").write_text(CODE)
    (here / "mine" / "labeler").mkdir(parents=True)
    for how in CAUSES:
        file = here / "mine" / "labeler" / f"{how}.yaml"
        file.write_text(f"name: minefield.bomb\nhow: {how}\n")
    for module in ("minefield.bomb", "minefield"):  # of another test's folder
        sys.modules.pop(module, None)
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setenv("PYTHONPATH", str(here), prepend=":")

    choice = f"labeler={','.join([*CAUSES, 'none'])}"
    assert call("--config-dir", "mine", "-m", *words, *TINY, choice) == 1
    out, err = capfd.readouterr()
    assert out.count("twonorm") == 1, "the table has the sound job"
    assert "Traceback" not in err
    listed = [part.split("\n") for part in err.split("FAILED ")[1:]]
    told = {how: lines[1] for lines in listed for how in CAUSES if f"labeler={how}" in lines[0]}
    assert told.keys() == CAUSES.keys(), "overrides and cause of every failure are listed"
    client, last = MlflowClient(store_uri(None)), str(len(CAUSES))
    assert [r.info.status for r in runs() if r.data.tags["job"] == last] == ["FINISHED"]
    for job, how in enumerate(CAUSES):
        ended = [run.info for run in runs() if run.data.tags["job"] == str(job)]
        assert {info.status for info in ended} == {"FAILED"}, how
        for info in ended:
            text = Path(client.download_artifacts(info.run_id, "traceback.txt")).read_text()
            assert CAUSES[how] in text and CAUSES[how] in told[how]
    return told
