"""The history of a deployment as one figure: estimated accuracy, shares, who decides, alarms."""

import io

import numpy as np
import pandas as pd

from sdsl.use.monitor import UNSEEN

MOST = 12  # classes with a name in the legend


def draw(history: pd.DataFrame) -> bytes:
    """SVG; equal histories give equal bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # half a second, and only here

    figure = Figure(figsize=(8, 6), layout="constrained")
    top, middle, low = figure.subplots(3, 1, sharex=True, height_ratios=[3, 3, 1])
    x = np.arange(1, len(history) + 1)
    top.fill_between(x, history.estimated_low, history.estimated_high, alpha=0.2, lw=0)
    for name, look in {
        "estimated_accuracy": "-",
        "accuracy": "k:",
        "checked_accuracy": "--",
    }.items():
        if name in history:
            top.plot(x, history[name].astype(float), look, label=name.replace("_", " "))
    top.set(ylim=(0, 1.02), ylabel="accuracy")
    shares = history.filter(like="share_").astype(float).fillna(0)
    names = [name.removeprefix("share_") for name in shares]
    middle.stackplot(x, shares.to_numpy().T, labels=names[:MOST])
    middle.set(ylim=(0, 1), ylabel="share of labels")
    decides = history.get("tracker_decides", pd.Series(np.nan, history.index)).astype(float)
    low.step(x, decides, where="mid", label="the tracker decides")
    alarms = x[history.warnings.fillna("") != ""]
    low.plot(alarms, np.full(len(alarms), 0.5), "rv", ms=4, label="alarm")
    low.set(ylim=(-0.1, 1.1), yticks=[0, 1], yticklabels=["no", "yes"], xlabel="segment")
    for axes in (top, middle, low):
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7, frameon=False)
    figure.suptitle(UNSEEN, fontsize=8)
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "sdsl"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
