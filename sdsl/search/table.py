"""A search as a table: every variant against the shipped values, stream by stream."""

from pathlib import Path

import pandas as pd

from sdsl.search.variants import SHIPPED, Family


def compared(rows: pd.DataFrame, family: Family) -> pd.DataFrame:
    """One row per variant: Acc_t by stream, the mean, its gain over "as shipped" and that gain's
    standard error over the streams."""
    table = rows.pivot(index="variant", columns="stream", values="acc_t")
    streams = [*family.streams, *family.held_out]
    table = table.loc[
        [v for v in family.variants if v in table.index],
        [s for s in dict.fromkeys(streams) if s in table.columns],
    ]
    gain = table - table.loc[SHIPPED]
    return table.assign(mean=table.mean(axis=1), gain=gain.mean(axis=1), se=gain.sem(axis=1))


def markdown(file: Path, family: Family) -> str:
    """The table of a saved search, as outputs/paper/SETTINGS.md shows it."""
    table = compared(pd.read_csv(file), family)
    streams = list(table.columns[:-3])
    lines = [f"| variant | {' | '.join(streams)} | mean | gain | s.e. |"]
    lines += ["|---" * (len(streams) + 4) + "|"]
    for variant, row in table.iterrows():
        cells = [short(row[stream], 2) for stream in streams] + [short(row["mean"], 3)]
        if variant == SHIPPED:
            cells += ["", ""]
        else:
            cells += [signed(row["gain"]), short(row["se"], 3)]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def summary(file: Path, family: Family) -> str:
    """The same without its streams: means of Acc_t and Acc_T, the gain in Acc_t and its s.e."""
    rows = pd.read_csv(file)
    table, final = compared(rows, family), rows.groupby("variant").acc_T.mean()
    lines = ["| variant | Acc_t | gain | s.e. | Acc_T |", "|---" * 5 + "|"]
    for variant, row in table.iterrows():
        found = ["", ""] if variant == SHIPPED else [signed(row["gain"]), short(row["se"], 3)]
        cells = [short(row["mean"], 3), *found, short(final[variant], 3)]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def signed(value: float) -> str:
    """−.010, +.003"""
    return ("−" if value < 0 else "+") + short(abs(value), 3)


def short(value: float, digits: int) -> str:
    """.93, not 0.93"""
    return f"{value:.{digits}f}".removeprefix("0")
