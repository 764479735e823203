"""A folder of somebody's own, with components, callbacks and a sweeper."""

import sys
from pathlib import Path

import pytest

LABELER = """
import os, signal
from pathlib import Path
from sdsl.labelers.none import NoLabels
from sdsl.core.settings import settings

@settings
class Bomb(NoLabels):
    how: str

    def start(self, gold, learner, draws):
        with Path("tries.txt").open("a") as file:
            file.write(f"{self.how} ")
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "once" and not Path("killed").exists():
            Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "raise":
            raise ValueError("a bad labeler")

    def label(self, step, learner):
        if self.how == "stop" and step.t == 5 and not Path("stopped").exists():
            Path("stopped").touch()
            raise KeyboardInterrupt(2)
        return super().label(step, learner)
"""
HOOKS = """
from pathlib import Path
from hydra.experimental.callback import Callback

class Mine(Callback):
    def on_job_end(self, config, job_return, **kwargs):
        with Path("ends.txt").open("a") as file:
            file.write(f"{job_return.return_value} ")
"""


@pytest.fixture
def lab(here, monkeypatch) -> Path:
    """The folder `lab` with the labeler `bomb`, for `--config-dir lab/conf`."""
    (here / "lab" / "conf" / "labeler").mkdir(parents=True)
    (here / "lab" / "bomb.py").write_text(LABELER)
    (here / "lab" / "hooks.py").write_text(HOOKS)
    (here / "lab" / "conf" / "labeler" / "bomb.yaml").write_text(
        "# A labeler that fails.\n_target_: lab.bomb.Bomb\nhow: not\n"
    )
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setenv("PYTHONPATH", str(here), prepend=":")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        monkeypatch.delitem(sys.modules, name)  # of another test
    return here / "lab"
