"""Names that MLflow takes for metrics, whatever the classes are called."""

from collections.abc import Sequence

LONGEST = 100  # letters of a class's name; MLflow takes 250 in all


def mlflow_name(name: str) -> str:
    """MLflow takes letters, digits and a few signs in the name of a metric."""
    return "".join(c if c.isalnum() or c in "_-. /" else "_" for c in name)


def per_class(prefix: str, classes: Sequence[str]) -> list[str]:
    """prefix_CLASS for every class, no two alike; a slash would start a folder of metrics."""
    names: list[str] = []
    for number, label in enumerate(classes):
        name = f"{prefix}_{mlflow_name(label.replace('/', '_'))[:LONGEST]}"
        names.append(f"{name}_{number}" if name in names else name)
    return names
