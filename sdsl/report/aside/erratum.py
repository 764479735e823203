"""An erratum: what Algorithm 2 does as printed, beside the reading that can be run."""

from collections.abc import Iterator

import pandas as pd

from sdsl.report.aside.table import Aside, cell
from sdsl.report.runs.names import TO_THE_LETTER, dataset_name
from sdsl.report.runs.results import Results

NOTE = (
    "Algorithm 2 updates ξ in every iteration and never sets it back or bounds it. As ξ climbs the "
    "loss, it grows until the network's parameters are no longer finite numbers. So in all other "
    "runs ξ starts from 0 in every iteration. Acc_t of the carried rows is that of the segments "
    "before the overflow. mean ± std (n): over n seeds, std with ddof = 1."
)
LETTER = TO_THE_LETTER["ours"]


def tables(results: Results) -> Iterator[Aside]:
    """One table, if `python -m sdsl.report.erratum` was run."""
    if results.erratum.empty:
        return
    found = []
    for name, runs in results.erratum.groupby("stream", sort=False):
        stream, T = str(name), int(runs["T"].iloc[0])
        low, high = int(runs.learned.min()), int(runs.learned.max())
        until = f"{low} to {high}" if low < high else f"{low}"
        scores = runs.acc_online.dropna()
        before = f"{scores.mean():.3f} ({len(scores)})" if len(scores) else "–"
        ended = f"{(runs.learned == T).sum()} of {len(runs)}"
        found.append(
            [dataset_name(stream), "carried, as printed", ended, f"{until} of {T}", before]
        )
        seeds = results.scores(LETTER, stream, "acc_online")
        reset = f"{len(seeds)} of {len(seeds)}", f"{T} of {T}" if len(seeds) else "–"
        fresh = cell(results, LETTER, stream, "acc_online")
        found.append([dataset_name(stream), "0 in every iteration", *reset, fresh])
    heads = ["stream", "ξ", "seeds that reach the end", "segments learned", "Acc_t"]
    yield Aside("erratum", "An erratum: ξ of Algorithm 2", NOTE, pd.DataFrame(found, columns=heads))
