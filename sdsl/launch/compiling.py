"""Says that loops are being compiled, which the first run on a machine waits for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

TEXT = "compiling loops for 10 to 30 s; their machine code is kept, so this happens once"


@contextmanager
def announced(say: Callable[[str], object]) -> Iterator[None]:
    """Calls `say` when numba first compiles a loop inside; not for code that it loads from disk."""
    from numba.core import event  # numba takes a third of a second

    class Notice(event.Listener):
        said = False

        def on_start(self, event: object) -> None:
            if not self.said:
                self.said = True
                say(TEXT)

        def on_end(self, event: object) -> None:
            pass

    with event.install_listener("numba:compile", Notice()):
        yield
