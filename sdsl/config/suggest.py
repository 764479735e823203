"""Refusing a name with the names that exist."""

import difflib
from collections.abc import Iterable
from typing import Any


def suggest(word: str, known: Iterable[Any]) -> str:
    """'Did you mean ...? Choices: ...', for every refusal of a name."""
    choices = sorted(map(str, known))
    close = difflib.get_close_matches(word, choices, n=1)
    hint = f"Did you mean '{close[0]}'? " if close else ""
    return f"{hint}Choices: {', '.join(choices) or 'none'}."
