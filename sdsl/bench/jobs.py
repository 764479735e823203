"""What a sweep does before its first job starts: compose and check every job, in one process."""

import os
from collections.abc import Generator
from itertools import product
from pathlib import Path

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.types import HydraContext, RunMode

from sdsl.bench.method import STREAMS
from sdsl.bench.rows import Row
from sdsl.bench.timing import Cost, Stopwatch
from sdsl.config import trust
from sdsl.config.home import home
from sdsl.launch.composer import Composer
from sdsl.launch.launcher import SweepLauncher
from sdsl.launch.steps import Steps
from sdsl.launch.types import Job, JobResult
from sdsl.tracking.provenance import JobTags

METHODS = ("ours", "ours_wo_ils", "ours_pl", "ours_tracker", "ours_record")
VALUES = 125  # of one setting, for each method and stream
MOST = 60  # seconds that 5,000 jobs may take


class Unrun(SweepLauncher):
    """Prepares jobs and runs none."""

    def _run(self, jobs: list[Job]) -> Generator[tuple[Job, JobResult]]:
        yield from ()


def measure(tiny: bool, out: Path) -> list[Row]:
    methods, streams, values = (METHODS[:1], STREAMS[:2], 3) if tiny else (METHODS, STREAMS, VALUES)
    lines = [
        [f"method={m}", f"dataset={s}", f"replay.steps={k}"]
        for m, s, k in product(methods, streams, range(1, values + 1))
    ]
    cost = prepared(lines)
    ms = 1000 * cost.cpu / len(lines)
    name = f"a sweep of {len(lines):,} jobs composed and checked, {len(streams)} streams"
    found = f"{cost.cpu:.0f} s CPU ({cost.wall:.0f} s wall), {ms:.1f} ms a job"
    if tiny:
        return [Row(name, found, raw=vars(cost))]
    return [Row(name, found, f"{MOST} s", cost.cpu < MOST, vars(cost))]


def prepared(lines: list[list[str]]) -> Cost:
    os.environ.setdefault("SDSL_HOME", str(home()))  # conf/config.yaml reads it
    trust.install()
    with initialize_config_dir(str(home() / "conf"), version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        master = hydra.compose_config("config", [], RunMode.MULTIRUN, with_log_configuration=False)
        launcher = Unrun()
        context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks())
        launcher.setup(hydra_context=context, task_function=lambda config: None, config=master)
        with Stopwatch() as watch:
            compose = Composer(hydra.config_loader, master)
            for index, words in enumerate(lines):
                tags = JobTags("bench", index, waits=False)
                launcher.prepare(compose, tags, words, Steps("", index))
    return watch.cost
