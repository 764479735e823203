"""Acc_t against Acc_T: every method a point, the static trade-off curve of the stream behind it."""

from typing import Any

from sdsl.report.claims.claim import OUT_OF_REACH
from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import Section, render
from sdsl.report.runs.names import STATIC_BOUND, datasets_in_order, methods_in_order
from sdsl.report.runs.results import Results


def section(report: Report) -> Section:
    data = {setting.id: _panels(report, results) for setting, results in report.settings.items()}
    measured = any(panel["front"] for panels in data.values() for panel in panels)
    beyond = {
        setting: [v for v in judged if v.verdict == OUT_OF_REACH]
        for setting, judged in report.judged.items()
    }
    names = {m: look for m, look in report.looks.items() if m != STATIC_BOUND}
    names_and_numbers = {"looks": names, "methods": report.methods}
    html = render("tradeoff.html", measured=measured, beyond=beyond, **names_and_numbers)
    return Section("tradeoff", "Following the drift against remembering", html, data)


def _panels(report: Report, results: Results) -> list[dict[str, Any]]:
    panels = []
    for stream in datasets_in_order(results.streams()):
        points = []
        for method in methods_in_order(results.variants() - {STATIC_BOUND}):
            online, final = (results.scores(method, stream, m) for m in ("acc_online", "acc_final"))
            if len(online) and len(final):
                values = [online.mean(), final.mean(), online.std(), final.std()]
                shown = [None if v != v else round(float(v), 4) for v in values]
                points.append([report.methods[method], *shown, len(online)])
        front = results.front(stream)[["acc_online", "acc_final", "weight"]].round(4)
        reach = results.reach(stream)
        panels.append(
            {
                "stream": report.streams[stream],
                "points": points,
                "front": front.to_numpy().tolist(),
                "reach": None if reach != reach else round(reach, 4),
            }
        )
    return panels
