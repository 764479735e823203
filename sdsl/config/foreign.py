"""A bug in somebody's own component: their file and line first, without the frames around it."""

import site
import sysconfig
import traceback
from pathlib import Path

from sdsl.config.home import home

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARIES = [
    *(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")),
    *(Path(path).resolve() for path in site.getsitepackages()),
]


def place(error: BaseException) -> str | None:
    """'lab/mine.py, line 14, in label: ZeroDivisionError: ...'; None if no code of theirs ran."""
    frames = _theirs(error)
    if not frames:
        return None
    last = frames[-1]
    where = f"{_short(last.filename)}, line {last.lineno}, in {last.name}"
    return f"{where}: {''.join(traceback.format_exception_only(error)).strip()}"


def message(error: BaseException) -> str | None:
    """The place, then the traceback from their first line on; None if no code of theirs ran."""
    first = place(error)
    if first is None:
        return None
    frames = traceback.extract_tb(error.__traceback__)
    begin = frames.index(_theirs(error)[0])
    return "\n".join([first, "", *"".join(traceback.format_list(frames[begin:])).splitlines()])


def _theirs(error: BaseException) -> list[traceback.FrameSummary]:
    return [f for f in traceback.extract_tb(error.__traceback__) if _is_theirs(f.filename)]


def _is_theirs(name: str) -> bool:
    file = Path(name).resolve()
    if name.startswith("<") or PACKAGE in file.parents or not file.exists():
        return False
    tests_of_ours = home() == PACKAGE.parent and home() / "tests" in file.parents
    return not tests_of_ours and not any(folder in file.parents for folder in LIBRARIES)


def _short(name: str) -> str:
    """From here, where the file is below this folder."""
    file, here = Path(name).resolve(), Path.cwd()
    return str(file.relative_to(here)) if here in file.parents else str(file)
