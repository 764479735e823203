"""Marks in Markdown that GitHub does not show, and what is written in their place.

A part:    <!-- generated: acc_t -->   ...   <!-- end -->
A number:  <!-- acc_t ours satimage -->.948
"""

import re

from sdsl.errors import UserError
from sdsl.report.texts.facts import Facts
from sdsl.report.texts.numbers import NUMBERS
from sdsl.report.texts.parts import PARTS

PART = re.compile(r"<!-- generated: (\w+) -->\n.*?<!-- end -->", re.S)
VALUE = r"(?:FILL|–|-?\d*\.\d+|\d[\d,]*(?: of \d+)?)"
NUMBER = re.compile(rf"<!-- (\w+)((?: \w+)*) -->{VALUE}")
WRITTEN = re.compile(r"(?<![\d.])[01]?\.\d{3}\b|\bFILL\b")  # what a number in a text looks like


def renewed(text: str, facts: Facts) -> str:
    """The text with every part and every marked number as the runs have it."""

    def part(match: re.Match[str]) -> str:
        name = match[1]
        if name not in PARTS:
            raise UserError(f"No generated part is called {name!r}. There are: {', '.join(PARTS)}.")
        return f"<!-- generated: {name} -->\n\n{PARTS[name](facts).strip()}\n\n<!-- end -->"

    def number(match: re.Match[str]) -> str:
        kind, names = match[1], match[2].split()
        if kind not in NUMBERS:
            raise UserError(f"No number is called {kind!r}. There are: {', '.join(NUMBERS)}.")
        return f"<!-- {' '.join([kind, *names])} -->{NUMBERS[kind](facts, *names)}"

    return NUMBER.sub(number, PART.sub(part, text))


def unmarked(text: str) -> list[str]:
    """Accuracies in a text that nothing renews."""
    return WRITTEN.findall(NUMBER.sub("", PART.sub("", text)))
