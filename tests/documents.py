"""The documents as data: their code blocks, commands, headings and tables."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import support

GENERATED = ("verdicts.md", "statistics.md")  # and tables/: written by the report, tested there
BLOCK = re.compile(r"(?:^`([^`\n]+)`\n\n)?^```(\w+)\n(.*?)^```$", re.S | re.M)


@dataclass(frozen=True)
class Block:
    """A fenced block; a line before it that holds a path only says which file it is."""

    file: str | None
    kind: str
    text: str

    def commands(self) -> list[tuple[str, ...]]:
        lines = (part for line in self.text.splitlines() for part in line.split("&&"))
        split = (tuple(shlex.split(line, comments=True)) for line in lines)
        return [words for words in split if words]


@dataclass(frozen=True)
class Document:
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(support.ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def blocks(self, kind: str | None = None) -> list[Block]:
        found = [Block(*match) for match in BLOCK.findall(self.text)]
        return [block for block in found if kind in (None, block.kind)]

    def commands(self, kind: str) -> list[tuple[str, ...]]:
        return [words for block in self.blocks(kind) for words in block.commands()]

    def prose(self) -> str:
        """The text without its blocks."""
        return BLOCK.sub("", self.text)

    def links(self) -> list[str]:
        """Targets of links and pictures inside the repository."""
        found = re.findall(r"\]\(([^)\s]+)\)", self.prose())
        return [link for link in found if not link.startswith("http")]

    def anchors(self) -> set[str]:
        """The headings, as GitHub names them in links."""
        heads = re.findall(r"^#+ (.+)$", self.prose(), re.M)
        kept = (re.sub(r"[^\w\- ]", "", head.lower()) for head in heads)
        return {head.replace(" ", "-") for head in kept}

    def table(self, head: str) -> dict[str, list[str]]:
        """first cell -> the others, of the table whose first line starts with `| head |`."""
        start = self.text.index(f"| {head} |")
        lines = self.text[start:].split("\n\n")[0].splitlines()[2:]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
        return {row[0]: row[1:] for row in rows}


def found() -> list[Document]:
    """Every document that somebody wrote."""
    outputs = support.ROOT / "outputs" / "paper"
    folders = [support.ROOT / name for name in ("conf", "sweeps", "sdsl", "tests")]
    paths = [support.ROOT / "README.md", *outputs.glob("*.md"), *outputs.glob("*/README.md")]
    paths += [path for folder in folders for path in folder.rglob("README.md")]
    return [Document(path) for path in sorted(paths) if path.name not in GENERATED]


def named(name: str) -> Document:
    """By its path in the repository."""
    return Document(support.ROOT / name)


DOCUMENTS = found()
README, CONF, SWEEPS = (named(f"{folder}README.md") for folder in ("", "conf/", "sweeps/"))
