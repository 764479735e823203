"""What a person sees of a deployment: a line per segment, and a table at the end."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from sdsl.datasets.inputs import Input
from sdsl.progress import Pace
from sdsl.use.deployment import Deployment, Segment
from sdsl.use.history import Record

MOST = 100  # lines of the table; the history is in MLflow


class Screen:
    """Lines go to stderr, the table to stdout."""

    def __init__(self, deployment: Deployment):
        self.deployment = deployment
        self.cut = deployment.book.settings["segment_size"] is not None
        self.console = Console(stderr=True)
        self.shown: list[tuple[Segment, Record]] = []
        self.refused: dict[str, str] = {}  # file -> reason
        self.told: set[str] = set()  # changed files that were mentioned
        self.waiting: list[str] = []
        self.pace, self.before = Pace(), 0  # since the last look, and what was shown before it
        if not deployment.book.segments:
            self.line("Columns, as gold has them:")
            for text in deployment.plan.told():
                self.line(f"  {text}")

    @property
    def events(self) -> int:
        return len(self.shown) + len(self.refused)

    def line(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def look(self, new: Sequence[Input], changed: Sequence[str]) -> None:
        self.waiting = [found.name for found in new]
        self.pace, self.before = Pace(), len(self.shown)
        for name in set(changed) - self.told:
            self.line(f"{name} was changed after it was labelled; to label it, give it a new name.")
            self.told.add(name)

    def segment(self, segment: Segment, record: Record) -> None:
        self.shown.append((segment, record))
        done = [p.name for p in segment.pieces if p.name in self.deployment.book.done]
        self.waiting = [name for name in self.waiting if name not in done]
        text = f"{where(segment, self.cut)}: {record.rows} rows in {record.seconds:.1f} s"
        if self.waiting:
            count = len(self.shown) - self.before
            left = self.pace.left(count, count + len(self.waiting))
            files = "file" if len(self.waiting) == 1 else "files"
            text += f", {len(self.waiting)} {files} to go{left}"
        self.line("; ".join([text, *record.warnings]))

    def aside(self, name: str, reason: str) -> None:
        self.refused[name] = reason
        self.waiting = [one for one in self.waiting if one != name]
        self.line(f"set aside: {reason}")

    def table(self) -> None:
        """One line per segment of this call, and what was set aside."""
        if not self.shown and not self.refused:
            known = len(self.deployment.book.done)
            print(f"Nothing new: {known} files are labelled in {self.deployment.out}.")
        if self.shown:
            self._print_segments()
        for reason in self.refused.values():
            print(f"set aside: {reason}")

    def _print_segments(self) -> None:
        scored = any(segment.accuracy == segment.accuracy for segment, _ in self.shown)
        table = Table(box=None, pad_edge=False)
        for name in ("file", "rows", "class shares", "drift", "trust"):
            table.add_column(name, justify="left" if name in ("file", "class shares") else "right")
        if scored:
            table.add_column("accuracy", justify="right")
            table.add_column("balanced", justify="right")
        table.add_column("warnings")
        for segment, record in self.shown[-MOST:]:
            classes = self.deployment.model.classes
            pairs = zip(classes, record.shares, strict=True)
            cells = [
                where(segment, self.cut),
                str(record.rows),
                " ".join(f"{name} {share:.2f}" for name, share in pairs),
                f"{record.drift:.2f}",
                f"{record.gold_trust:.2f}",
            ]
            scores = (segment.accuracy, segment.balanced) if scored else ()
            cells += ["" if score != score else f"{score:.3f}" for score in scores]
            table.add_row(*cells, "; ".join(record.warnings))
        console = Console()
        console.width = max(console.width, 120)
        console.print(table, highlight=False, markup=False, soft_wrap=True)


def where(segment: Segment, cut: bool) -> str:
    """The files of a segment; with their rows, if segments are cut across files."""
    first, last = segment.pieces[0], segment.pieces[-1]
    if not cut:
        return first.name
    start = f"{first.name} row {first.start + 1}"
    return f"{start} to {last.stop if first is last else f'{last.name} row {last.stop}'}"
