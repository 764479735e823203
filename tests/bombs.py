"""Jobs that fail in every way beside one that does not: what every launcher must do then."""

import sys
from pathlib import Path

from cli import TINY, artifact, call, runs

CODE = """
import os, resource, signal
from dataclasses import dataclass
from pathlib import Path
import torch
from sdsl.labelers.none import NoLabels

@dataclass
class Bomb(NoLabels):
    how: str

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
    """Sweep over the bombs and one sound job; how it fails -> the cause that was listed."""
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
    causes = {how: lines[1] for lines in listed for how in CAUSES if f"labeler={how}" in lines[0]}
    assert causes.keys() == CAUSES.keys(), "overrides and cause of every failure are listed"
    last = str(len(CAUSES))
    assert [r.info.status for r in runs() if r.data.tags["job"] == last] == ["FINISHED"]
    for job, how in enumerate(CAUSES):
        ended = [run for run in runs() if run.data.tags["job"] == str(job)]
        assert {run.info.status for run in ended} == {"FAILED"}, how
        for run in ended:
            text = artifact(run, "traceback.txt").read_text()
            assert CAUSES[how] in text and CAUSES[how] in causes[how]
    return causes
