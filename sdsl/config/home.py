"""The folder that holds conf/ and sweeps/."""

from pathlib import Path


def home() -> Path:
    """Inside an installed package, else the repository."""
    package = Path(__file__).resolve().parents[1]
    return package if (package / "conf").is_dir() else package.parent
