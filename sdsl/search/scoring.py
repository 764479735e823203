"""Acc_t and Acc_T of variants on streams, on all cores; workers cannot import a __main__."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import numpy as np

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.core.metrics import summarise
from sdsl.search.variants import FAMILIES

Score = dict[str, str | float]
Job = tuple[str, str, str, bool]  # (method, variant, stream, whether it is one set apart)


def score(method: str, variant: str, stream: str, held_out: bool = False) -> Score:
    """Acc_t and Acc_T of one variant on one stream, mean over the seeds."""
    family = FAMILIES[method]
    where = (family.held_out if held_out else family.streams)[stream]  # both have a "few gold"
    words = f"method={method} eval.every=1000 {where} {family.variants[variant]}".split()
    trial = experiment.run(experiment.setup(composed(*words)), family.seeds)
    found = [summarise(R) for R in trial.outcome.R]
    return {
        "variant": variant,
        "stream": stream,
        "acc_t": float(np.mean([m.acc_online for m in found])),
        "acc_T": float(np.mean([m.acc_final for m in found])),
    }


def scores(jobs: Sequence[Job], processes: int | None = None) -> Iterator[Score]:
    """All jobs, each as it ends; on all cores where no number of processes is given."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for job in as_completed([pool.submit(score, *job) for job in jobs]):
            yield job.result()
