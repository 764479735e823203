"""Where every number comes from: data, notes on what was left out, and every run."""

from typing import Any

import pandas as pd

from sdsl.report.output.report import Report
from sdsl.report.output.sections.section import Section, render
from sdsl.report.runs.names import dataset_name, method_name
from sdsl.report.runs.results import Results

DATA = ["stream", "prefix", "T", "data_standing", "data_source", "data_sha256", "stream_sha256"]
RUNS = {  # column of runs.csv -> its heading
    **{"variant": "Method", "stream": "Stream", "prefix": "Setting", "probe": "Probe"},
    **{"seed": "Seed", "acc_online": "Acc_t", "acc_final": "Acc_T"},
    **{"labeler": "Labeler", "replay": "Replay", "started": "Started (UTC)", "run_id": "Run"},
    **{
        "config_sha256": "Config",
        "code_sha256": "Code",
        "git_sha": "Commit",
        "dirty": "Uncommitted",
    },
}


def section(report: Report) -> Section:
    results = report.results
    html = render(
        "provenance.html",
        data=results.frame[DATA].drop_duplicates().to_dict("records"),
        streams=report.streams,
        notes=results.notes,
        runs=len(results.frame),
    )
    return Section("provenance", "Provenance", html, {"runs": _runs(results)})


def _runs(results: Results) -> list[dict[str, Any]]:
    """By column: its heading, its different values, and which of them each run has."""
    frame = results.frame.reset_index()[list(RUNS)]
    frame["variant"] = frame.variant.map(method_name)
    frame["stream"] = frame.stream.map(dataset_name)
    frame["started"] = pd.to_datetime(frame.started, unit="ms").dt.strftime("%Y-%m-%d %H:%M")
    columns = []
    for name, heading in RUNS.items():
        codes, values = pd.factorize(frame[name])
        shown = [round(v, 4) if isinstance(v, float) else v for v in values.tolist()]
        columns.append({"heading": heading, "values": shown, "codes": codes.tolist()})
    return columns
