"""The answer: which method to use, how sure that is, and how many of the paper's claims hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sdsl.report.claims.claim import NOT_REPRODUCED, NOT_RUN, OUT_OF_REACH, REPRODUCED
from sdsl.report.claims.ranking import EQUAL, Ranking, ranking
from sdsl.report.claims.verdicts import Verdict, counts
from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import METRICS_IN_ORDER, Section, render
from sdsl.report.runs.names import (
    METRICS,
    READ_LABELS,
    STATIC_BOUND,
    Setting,
    dataset_name,
    datasets_in_order,
    method_name,
    methods_in_order,
)
from sdsl.report.runs.results import Results

MANY = 3  # names in a headline at most


@dataclass(frozen=True)
class Answer:
    """What one setting says, in sentences."""

    setting: Setting
    headline: str
    sentences: list[str]
    ranked: bool


def section(report: Report) -> Section:
    answers, data = [], {}
    for setting, results in report.settings.items():
        ranks = {metric: ranking(results, metric) for metric in METRICS}
        answers.append(answer(setting, results, ranks, report.judged[setting]))
        data[setting.id] = {
            metric: _rows(report, found) for metric, found in ranks.items() if found is not None
        }
    html = render("answer.html", answers=answers, metrics=METRICS_IN_ORDER)
    return Section("answer", "Which method to use", html, data)


def answer(
    setting: Setting,
    results: Results,
    ranks: dict[str, Ranking | None],
    judged: Sequence[Verdict],
) -> Answer:
    online, final = ranks["acc_online"], ranks["acc_final"]
    claims = _claims(judged)
    if online is None or final is None:
        headline, sentences = _of_one_method(results)
        return Answer(setting, headline, [*sentences, *claims], ranked=False)
    sentences = [*_first(online), _last_model(online, final), *claims]
    return Answer(setting, _headline(online), sentences, ranked=True)


def _headline(found: Ranking) -> str:
    best, alike = method_name(found.best), [method_name(m) for m in found.alike]
    if not alike:
        return f"Use {best}."
    others = _list(alike) if len(alike) <= MANY else f"{len(alike)} other methods"
    return f"{best} ranks first, but {others} cannot be told apart from it."


def _first(found: Ranking) -> list[str]:
    own, (low, lowest) = found.table.iloc[0], found.worst
    n, places = len(found.streams), _streams(found.streams)
    sentences = [
        f"By Acc_t, the accuracy on each segment right after learning it, "
        f"{method_name(found.best)} has mean rank {own['rank']:.1f} among {len(found.table)} "
        f"methods that read no labels, on {places}. "
        f"Redrawing streams and seeds gives {own.low:.1f} to {own.high:.1f}.",
        f"Its lowest Acc_t is {lowest:.3f}, on {dataset_name(low)}.",
    ]
    if found.alike and len(found.alike) > MANY:
        sentences.append(f"Not told apart from it: {_list(map(method_name, found.alike))}.")
    if leads := found.exceptions:
        shown = [
            f"{dataset_name(lead.stream)} ({method_name(lead.other)} {lead.others_mean:.3f}, "
            f"{method_name(found.best)} {lead.mean:.3f})"
            for lead in leads
        ]
        sentences.append(
            f"Another method is ahead of it by {EQUAL} or more on {len(leads)} of {n} streams: "
            f"{_list(shown)}."
        )
    return sentences


def _last_model(online: Ranking, final: Ranking) -> str:
    own = final.table.iloc[0]
    lead = "it ranks first, too" if final.best == online.best else None
    lead = lead or f"{method_name(final.best)} ranks first"
    return (
        f"If the last model must still know the old segments (Acc_T, its accuracy on all of them), "
        f"{lead}: mean rank {own['rank']:.1f}, {own.low:.1f} to {own.high:.1f}."
    )


def _of_one_method(results: Results) -> tuple[str, list[str]]:
    """Nothing to rank: says what ran and what came out."""
    runs = results.frame[results.frame.variant != STATIC_BOUND]
    runs = results.frame if runs.empty else runs
    methods = methods_in_order(set(runs.variant))
    names = _list(map(method_name, methods))
    seeds = sorted(set(runs.seed))
    if len(runs) == 1:
        headline = f"One run: {names} on {dataset_name(runs.stream.iloc[0])}, seed {seeds[0]}."
    else:
        headline = (
            f"{len(runs)} runs of {names} on {_streams(datasets_in_order(set(runs.stream)))}."
        )
    sentences = []
    for stream in datasets_in_order(set(runs.stream)):
        for method in methods:
            scores = {m: results.scores(method, stream, m) for m in METRICS}
            if len(scores["acc_online"]):
                sentences.append(
                    f"{method_name(method)} on {dataset_name(stream)}: "
                    f"Acc_t {scores['acc_online'].mean():.3f} (accuracy on each segment right "
                    f"after learning it), Acc_T {scores['acc_final'].mean():.3f} (the last "
                    "model on all segments)."
                )
    if set(methods) <= set(READ_LABELS):
        sentences.append("It reads true labels, so it is a bound and not a method to use.")
    else:
        sentences.append("Run another method on the same stream to compare.")
    return headline, sentences


def _claims(judged: Sequence[Verdict]) -> list[str]:
    tally = counts(judged)
    tested = len(judged) - tally[NOT_RUN]
    if not tested:
        return []
    of_all = f" (of {len(judged)})" if tally[NOT_RUN] else ""
    reach = tally[OUT_OF_REACH]
    beyond = (
        f", and {reach} {'is' if reach == 1 else 'are'} out of reach of any classifier of x alone"
    )
    return [
        f"These runs test {tested} claims of the paper{of_all}: {tally[REPRODUCED]} "
        f"hold, {tally[NOT_REPRODUCED]} do not{beyond if reach else ''}."
    ]


def _rows(report: Report, found: Ranking) -> list[list[Any]]:
    """[method's number, rank, low, high, first in so many per cent of draws], the best first."""
    return [
        [
            report.methods[str(m)],
            *(round(float(row[c]), 3) for c in ("rank", "low", "high", "first")),
        ]
        for m, row in found.table.iterrows()
    ]


def _streams(streams: Sequence[str]) -> str:
    return dataset_name(streams[0]) if len(streams) == 1 else f"{len(streams)} streams"


def _list(names: Any) -> str:
    """'a, b and c'"""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
