"""The generated parts that are not made of runs, but of files beside them in the export."""

from collections.abc import Callable

from sdsl.report.texts.facts import Facts
from sdsl.use import alarm_rates

NOT_MEASURED = "Not measured: run `python -m {}`."


def alarms(facts: Facts) -> str:
    """How often the alarms of a model in use are raised."""
    file = facts.folder / "alarms.csv"
    return (
        alarm_rates.markdown(file) if file.exists() else NOT_MEASURED.format("sdsl.use.alarm_rates")
    )


PARTS: dict[str, Callable[[Facts], str]] = {part.__name__: part for part in (alarms,)}
