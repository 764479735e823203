"""The generated tables of accuracies and costs: mean over seeds, .936 for 0.9363, – not run."""

from collections.abc import Callable, Sequence

import numpy as np

from sdsl.report.aside import archive as published
from sdsl.report.aside import erratum as printed
from sdsl.report.claims.book import paper_cell
from sdsl.report.claims.ranking import EQUAL, ranking
from sdsl.report.output.sections.answer import answer as answered
from sdsl.report.runs.names import (
    ARCHIVE,
    DATASETS,
    LITERAL,
    METRICS,
    READ_LABELS,
    STATIC_BOUND,
    methods_in_order,
)
from sdsl.report.texts.facts import EIGHT, GAP, Facts, shown

STREAMS = DATASETS
MAIN = {  # the rows of the first table
    "st": "`st`: no adaptation",
    "record": "`record` (KDD 2020)",
    "ours": "`ours`: the paper's method, our reading",
    "ours_literal": "`ours_literal`: the paper to the letter",
    "scargc": "`scargc` (2015), not in the paper",
    "tracker": "`tracker`, new here",
    "oracle_labels": "`oracle_labels`: true labels",
}

AIMS = {  # set before the tracker was written: at least this Acc_t, Acc_T and Acc_T in context
    "mg_2c_2d": (0.930, 0.58, 0.92),
    "ug_2c_2d": (0.955, 0.51, 0.94),
    "ug_2c_3d": (0.955, 0.63, 0.95),
    "ug_2c_5d": (0.932, 0.77, 0.92),
    "optdigits": (0.955, 0.93, 0.94),
    "satimage": (0.965, 0.78, 0.95),
    "spam": (0.945, 0.94, 0.94),
    "twonorm": (0.980, 0.96, 0.98),
}


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def acc_t(facts: Facts) -> str:
    """Acc_t of the main methods on the eight streams, and what the rows of each stream are."""
    standings = [facts.literal.standing(stream) or GAP for stream in EIGHT]
    return _main(facts, "acc_online", [["*data*", *standings]])


def acc_T(facts: Facts) -> str:
    """Acc_T of the same, with the paper's own numbers and the best single classifier."""
    own = [paper_cell("ours", stream) for stream in EIGHT]
    reported = ["*Ours, as the paper reports it*", *(shown(c.mean) if c else GAP for c in own)]
    reach = [shown(facts.literal.reach(stream)) for stream in EIGHT]
    return _main(facts, "acc_final", [reported, ["*best classifier of x alone*", *reach]])


def _main(facts: Facts, metric: str, more: list[list[str]]) -> str:
    rows = [
        [name, *(shown(facts.mean(method, stream, metric)) for stream in EIGHT)]
        for method, name in MAIN.items()
    ]
    return grid(["method", *STREAMS.values()], [*rows, *more])


def context(facts: Facts) -> str:
    """The tracker where each test part is one unlabelled batch."""
    metrics = {
        "Acc_t": "acc_online",
        "Acc_T": "acc_final",
        "Acc_t in context": "acc_online_context",
        "Acc_T in context": "acc_final_context",
    }
    rows = [
        [name, *(shown(facts.mean("tracker", stream, metric)) for stream in EIGHT)]
        for name, metric in metrics.items()
    ]
    return grid(["`tracker`", *STREAMS.values()], rows)


def aims(facts: Facts) -> str:
    """The tracker against what was asked of it; what is missed is bold."""
    metrics = {"Acc_t": "acc_online", "Acc_T": "acc_final", "in context": "acc_final_context"}
    rows = []
    for stream, name in STREAMS.items():
        row = [name]
        for metric, aim in zip(metrics.values(), AIMS[stream], strict=True):
            found = facts.mean("tracker", stream, metric)
            row += [f"**{shown(found)}**" if round(found, 3) < aim else shown(found), shown(aim)]
        rows.append(row)
    return grid(["stream", *(head for name in metrics for head in (name, "aim"))], rows)


def archive(facts: Facts) -> str:
    """Acc_t on the archive's streams; below it what others published, in percent."""
    names = list(published.published()[0].accuracy)
    ran = facts.literal.frame[facts.literal.frame.stream.str.startswith(ARCHIVE)].variant
    rows = [
        [f"`{method}`", *(shown(facts.mean(method, name, "acc_online")) for name in names)]
        for method in methods_in_order(ran)
    ]
    recalled = [shown(facts.mean("tracker", name, "acc_final_context")) for name in names]
    rows.append(["`tracker`, Acc_T in context", *recalled])
    for one in published.published():
        rows.append([f"published: {one.name}", *(f"{one.accuracy[name]:.1f} %" for name in names)])
    return grid(["Acc_t", *(name.removeprefix(ARCHIVE) for name in names)], rows)


def methods(facts: Facts) -> str:
    """Every method that reads no labels: where it leads, its worst case, swaps and cost."""
    rows = []
    seven = [stream for stream in EIGHT if stream != "spam"]
    for method in facts.blind:
        means = [facts.mean(method, stream, "acc_online") for stream in EIGHT]
        if np.isnan(means).any():  # ran on some streams only
            continue
        bad, n = facts.swaps(method)
        leads = [str(facts.best[metric].get(method, 0)) for metric in ("acc_online", "acc_final")]
        costs = [facts.milliseconds(method, *seven), facts.milliseconds(method, "spam")]
        row = [f"`{method}`", *leads, shown(float(np.mean(means))), shown(min(means))]
        rows.append([*row, f"{bad} of {n}", *(f"{cost:.0f}" for cost in costs)])
    heads = ["method", "best Acc_t on", "best Acc_T on", "mean Acc_t", "lowest Acc_t"]
    return grid([*heads, "runs with a lasting swap", "ms", "ms, Spam"], rows)


def streams(facts: Facts) -> str:
    """Which method for which stream: the best that read no labels, and what it costs."""
    rows = []
    for stream, name in STREAMS.items():
        online, final = (_ranked(facts, stream, metric) for metric in ("acc_online", "acc_final"))
        if not online:
            continue
        (first, best), costs = online[0], facts.milliseconds(online[0][0], stream)
        second = f"`{online[1][0]}` {shown(online[1][1])}" if len(online) > 1 else GAP
        row = [name, f"`{first}` {shown(best)}", f"{costs:.0f}", second]
        truth = shown(facts.mean("oracle_labels", stream, "acc_online"))
        rows.append([*row, truth, f"`{final[0][0]}` {shown(final[0][1])}"])
    heads = ["stream", "best Acc_t", "ms", "next", "true labels", "best Acc_T"]
    return grid(heads, rows)


def fails(facts: Facts) -> str:
    """Where another method that reads no labels is ahead of the tracker by EQUAL or more."""
    rows = []
    ran = facts.literal.frame[facts.literal.frame.variant == "tracker"].stream
    for stream in [*EIGHT, *sorted(name for name in set(ran) if name not in STREAMS)]:
        ranked = dict(_ranked(facts, stream, "acc_online"))
        own = ranked.pop("tracker", np.nan)
        others = {method: mean for method, mean in ranked.items() if mean - own >= EQUAL}
        if others:
            ahead = ", ".join(f"`{m}` {shown(mean)}" for m, mean in others.items())
            seeds = facts.literal.scores("tracker", stream, "acc_online")
            name = STREAMS.get(stream, stream.removeprefix(ARCHIVE))
            rows.append([name, shown(own), shown(seeds.min()), ahead])
    if not rows:
        return f"Nowhere by {shown(EQUAL)} or more."
    return grid(["stream", "`tracker`, Acc_t", "its worst seed", "ahead of it"], rows)


def _ranked(facts: Facts, stream: str, metric: str) -> list[tuple[str, float]]:
    """(method, mean), the best first, of those that read no labels."""
    here = set(facts.literal.frame[facts.literal.frame.stream == stream].variant)
    here -= {*READ_LABELS, STATIC_BOUND}
    means = [(method, facts.mean(method, stream, metric)) for method in methods_in_order(here)]
    return sorted(means, key=lambda pair: -pair[1])


def answer(facts: Facts) -> str:
    """What the page opens with, without its last sentence, which counts the claims."""
    results = facts.settings[LITERAL]
    ranks = {metric: ranking(results, metric) for metric in METRICS}
    said = answered(LITERAL, results, ranks, [])
    text = f"**{said.headline}** {' '.join(said.sentences)}"
    return text.replace(" 0.", " .")


def labels(facts: Facts) -> str:
    """Where Ours loses: the labels it gives itself, by seed, beside what comes of them."""
    low_high = []
    for stream in EIGHT:
        seeds = facts.literal.scores("ours", stream, "pseudo_label_acc_mean")
        low_high.append(f"{shown(seeds.min())}–{shown(seeds.max())}" if len(seeds) else GAP)
    rows = [["`ours`, pseudo-labels by seed", *low_high]]
    for method in ("ours", "ours_tracker", "oracle_labels"):
        means = (shown(facts.mean(method, stream, "acc_online")) for stream in EIGHT)
        rows.append([f"`{method}`, Acc_t", *means])
    return grid(["", *STREAMS.values()], rows)


def ablations(facts: Facts) -> str:
    """Acc_t of Ours and its ablations and variants."""
    names = ["ours", "ours_wo_ils", "ours_wo_fr", "ours_pl", "ours_record", "pl_conf", "record"]
    rows = [
        [f"`{method}`", *(shown(facts.mean(method, stream, metric)) for stream in EIGHT)]
        for metric in ("acc_online", "acc_final")
        for method in names
    ]
    cut = len(names)
    return "\n\n".join(
        grid([METRICS[metric], *STREAMS.values()], part)
        for metric, part in (("acc_online", rows[:cut]), ("acc_final", rows[cut:]))
    )


def erratum(facts: Facts) -> str:
    """Algorithm 2 as printed, if `python -m sdsl.report.erratum` was run."""
    tables = list(printed.tables(facts.literal))
    if not tables:
        return "Not measured: run `python -m sdsl.report.erratum`."
    (table,) = tables
    rows = [[str(cell) for cell in row] for row in table.frame.itertuples(index=False)]
    return grid([str(head) for head in table.frame], rows)


PARTS: dict[str, Callable[[Facts], str]] = {
    part.__name__: part
    for part in (
        *(acc_t, acc_T, context, aims, archive, methods, streams, fails),
        *(answer, labels, ablations, erratum),
    )
}
