"""A store behind `mlflow server`, and the printed link followed in Chromium."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from made import CONFIG, group, ledger, record, runs, trial

from sdsl.tracking import address
from sdsl.tracking.results import load_config, load_curves, load_R, results
from sdsl.tracking.store import WORKING

pytestmark = pytest.mark.slow
HOST = "127.0.0.1"
PATIENCE = 600  # seconds for a server to answer, on a busy machine too
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Mlflow:
    """A server that can be killed and started again on the same address."""

    def __init__(self, database: str, folder: Path):
        with socket.create_server((HOST, 0)) as free:
            port = free.getsockname()[1]
        self.uri, self.folder = f"http://{HOST}:{port}", folder
        self.line = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", database]
        self.line += ["--artifacts-destination", str(folder / "artifacts"), "--workers", "1"]
        self.line += ["--host", HOST, "--port", str(port)]

    def start(self) -> "Mlflow":
        lean = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # it has none to do
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                self.line, stdout=log, stderr=log, env=lean, cwd=self.folder, start_new_session=True
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=PATIENCE).close()
                return self
            except OSError:
                assert self.process.poll() is None, (self.folder / "server.log").read_text()
                assert time.monotonic() < end, "the server does not answer"
                time.sleep(0.2)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def server(here):
    made = Mlflow(f"sqlite:///{here}/mlflow.db", here).start()
    yield made
    made.kill()


def test_runs_on_a_server_that_restarts_in_between(server, here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))  # the locks are below it
    books = ledger(server.uri)
    books.client.patience = 10 * WORKING  # on a busy machine a server takes long to start
    with books.recording(group(), 0) as run_id:
        server.kill()
        again = threading.Thread(target=server.start)
        again.start()
        books.log(run_id, group(), 0, trial())
        again.join()
    record(books, 1)
    table = results(server.uri)
    assert table.seed.tolist() == [0, 1]
    for run in (run_id, table.iloc[0]):
        assert load_R(run, server.uri).tobytes() == trial().outcome.R[1:].tobytes()
        assert load_config(run, server.uri)["labeler"] == CONFIG["labeler"]
        assert len(load_curves(run, server.uri)) == 6
    assert runs(books, "group")[0].data.metrics["n_seeds"] == 2
    assert set(books.finished(group())) == {0, 1} and books.stale() == []


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_the_printed_link_shows_these_runs_and_no_others(server, tmp_path, monkeypatch):
    selenium = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.support.ui import WebDriverWait

    books = ledger(server.uri)
    record(books, 0, 1)
    record(books, 0, of=group("1"))
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    flags = "headless", "no-sandbox", "disable-dev-shm-usage", "window-size=1600,900"
    for flag in (*flags, f"user-data-dir={tmp_path / 'chromium'}"):
        options.add_argument(f"--{flag}")
    service = selenium.ChromeService(shutil.which("chromedriver"))
    browser = selenium.Chrome(options=options, service=service)
    try:
        mine = f"tags.group_key = '{group().group_key}'"
        link = address.view(server.uri, books.store.experiment_id, where=mine)
        browser.get(link.removeprefix("View in MLflow: "))
        body, parent_and_seeds = ("tag name", "body"), "3 matching runs"
        page = WebDriverWait(browser, PATIENCE)
        page.until(lambda b: parent_and_seeds in b.find_element(*body).text)
        seen = browser.find_element(*body).text
        assert "ours (a=1) · spam" in seen and "spam (dddd" in seen  # the column Dataset
    finally:
        browser.quit()
