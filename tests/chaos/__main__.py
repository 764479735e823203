"""python -m tests.chaos [share]: the long version, or a share of it; a table in outputs/paper."""

import os
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from .scenarios import ALL

TABLE = Path(__file__).parents[2] / "outputs" / "paper" / "chaos.md"
HEAD = "| what happens | tries | losses | seconds a try |\n|---|---|---|---|\n"


def one(number: int, name: str) -> bool:
    """Whether a try ended well; it is seeded by its number."""
    try:
        ALL[name][0](np.random.default_rng([number, list(ALL).index(name)]))
    except Exception:
        print(f"{name}, try {number}:", file=sys.stderr)
        traceback.print_exc()
        return False
    return True


def rows() -> dict[str, str]:
    """scenario -> its row of the table, as far as it has been run."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()[2:] if TABLE.exists() else []
    return {line.strip("| ").split(" | ")[0]: line for line in lines}


def main() -> None:
    """Words: the share of all tries, then the numbers of scenarios (none: all)."""
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    share, *chosen = [float(word) for word in sys.argv[1:]] or [1.0]
    for index, (name, (_, _, most)) in enumerate(ALL.items()):
        if chosen and index not in chosen:
            continue
        begun, tries = time.monotonic(), max(1, round(share * most))
        lost = sum(not one(number, name) for number in range(tries))
        each = (time.monotonic() - begun) / tries
        now = rows() | {name: f"| {name} | {tries} | {lost} | {each:.0f} |"}
        print(now[name], flush=True)
        text = "".join(f"{now[known]}\n" for known in ALL if known in now)
        TABLE.write_text(HEAD + text, encoding="utf-8")


if __name__ == "__main__":
    main()
