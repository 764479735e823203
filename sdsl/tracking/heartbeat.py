"""Signs of life: a thread changes a tag of the runs of its process; others watch the tag change."""

import threading
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Self

from mlflow.entities import Run

from sdsl.tracking.client import PatientClient
from sdsl.tracking.process import Process

TAG = "heartbeat"
BEAT = 30.0  # seconds between two signs; a shorter run gives none
TIMEOUT = 300.0  # seconds without a sign after which a process of another host counts as dead


class Heartbeat:
    """Beats for these runs until the end of the block."""

    def __init__(self, client: PatientClient, run_ids: Collection[str]):
        self.client, self.run_ids = client, run_ids
        self.ended = threading.Event()
        self.last = time.time()  # not monotonic(), which stands still while a laptop sleeps

    def __enter__(self) -> Self:
        if self.run_ids:
            threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()

    def _beat(self) -> None:
        while not self.ended.wait(BEAT):
            with suppress(Exception):  # the store is away: the next beat may find it
                for run_id in list(self.run_ids):
                    self.client.set_tag(run_id, TAG, f"{time.time():.0f}")
                self.last = time.time()

    def lapsed(self) -> bool:
        """Whether others may have thought that this process is dead."""
        return time.time() > self.last + TIMEOUT / 2


class Watch:
    """Tells which runs have lost their process; remembers the heartbeats that it has seen."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[str, float]] = {}  # run_id -> heartbeat, since when

    def lost(self, run: Run) -> bool:
        """Whether the process that makes this run has ended; somebody else's run is never lost.

        On this host the process itself is looked up. Of another host we see only the heartbeat:
        it must change within TIMEOUT by our clock, so no two clocks are compared.
        """
        maker = Process.of(run.data.tags)
        if maker is None:
            return False
        if maker.is_here():
            return maker.gone()
        sweep = Process.parse(run.data.tags.get("sweep", ""))
        if sweep and sweep.gone():  # its workers end with it
            return True
        sign, now = run.data.tags.get(TAG, ""), time.monotonic()
        before, since = self.seen.setdefault(run.info.run_id, (sign, now))
        if sign != before:
            self.seen[run.info.run_id] = sign, now
            return False
        return now > since + TIMEOUT
