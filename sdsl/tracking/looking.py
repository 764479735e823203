"""Where to look at runs: the address of a page of `mlflow ui` that shows them and no others."""

from collections.abc import Sequence
from urllib.parse import quote

from sdsl.tracking.address import shown, store_uri

HERE = "http://127.0.0.1:5000"  # where `mlflow ui` listens unless told otherwise
MOST = 8  # ids in a line; more make it longer than anybody wants to copy


def look_at(uri: str, experiment: str, where: str) -> str:
    """How to see the runs of an experiment (its id) that a filter finds."""
    page = f"#/experiments/{experiment}/runs?searchFilter={quote(where, safe='')}"
    if uri.startswith("http"):
        return f"Look at them: {shown(uri).replace('***@', '').rstrip('/')}/{page}"
    store = "" if uri == store_uri(None) else f" --backend-store-uri {shown(uri)}"
    return f"Look at them: mlflow ui{store}, then open {HERE}/{page}"


def only(*ids: str) -> str:
    """The filter that shows these runs."""
    return f"attributes.run_id IN ({', '.join(repr(i) for i in ids)})"


def run_ids(ids: Sequence[str], computed: int) -> str:
    """'4 runs, 2 of them from the store: 0cd4..., 86f5...'; what was computed, and every id."""
    count = f"{len(ids)} run{'s' if len(ids) != 1 else ''}"
    held = len(ids) - computed
    if held == len(ids):
        count += " from the store, nothing was computed"
    elif held:
        count += f", {held} of them from the store"
    more = f" and {len(ids) - MOST} more" if len(ids) > MOST else ""
    return f"{count}: {', '.join(ids[:MOST])}{more}"
