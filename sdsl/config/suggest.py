"""Refusing a name with the names that exist."""

import difflib
from collections.abc import Iterable
from typing import Any


def suggest(word: str, known: Iterable[Any]) -> str:
    """'Did you mean ...? Choices: ...', for every refusal of a name."""
    choices = sorted(map(str, known))
    return f"{meant(word, choices)}Choices: {', '.join(choices) or 'none'}."


def meant(word: str, known: Iterable[Any]) -> str:
    """'Did you mean 'ours'? ', or nothing if no known name is near."""
    close = difflib.get_close_matches(word, list(map(str, known)), n=1)
    return f"Did you mean '{close[0]}'? " if close else ""
