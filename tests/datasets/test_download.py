"""Downloads, from a server of the test's own: checked by SHA-256, kept only when right."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from dataset_support import EIGHT, dataset

from sdsl.datasets import load
from sdsl.errors import UserError

TEXT = "".join(f"{i % 7}.5,{i % 5},{1 + i % 2}\n" for i in range(3000))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def address(tmp_path, monkeypatch):
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "UG_2C_2D.txt").write_text(TEXT)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/UG_2C_2D.txt"
    server.shutdown()
    thread.join()
    server.server_close()


def remote(url: str, sha256: str) -> dict:
    settings = dataset("ug_2c_2d") | {"expect": {}}
    settings["sources"][1] |= {"url": url, "sha256": sha256}
    return settings


def test_only_when_asked_for(data, address):
    assert load(remote(address, "0" * 64), data).standing == "regenerated"


def test_a_right_file_is_used_and_kept(data, address, tmp_path):
    data["download"] = True
    settings = remote(address, hashlib.sha256(TEXT.encode()).hexdigest())
    table = load(settings, data)
    assert (len(table.y), table.standing) == (3000, "original")
    assert table.source == f"download {address}"
    (tmp_path / "served" / "UG_2C_2D.txt").unlink()
    assert load(settings, data).sha256 == table.sha256  # from the cache


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(data, address):
    data["download"] = True
    with pytest.raises(UserError, match=r"wrong checksum.*Expected SHA-256 0000"):
        load(remote(address, "0" * 64), data)
    assert not [p for p in Path(data["cache"]).rglob("*") if p.is_file()]


def test_no_connection_says_what_to_do(data):
    data["download"] = True
    with pytest.raises(UserError, match=r"the download failed.*data\.download=false"):
        load(remote("http://127.0.0.1:9/UG_2C_2D.txt", "0" * 64), data)


@pytest.mark.parametrize("name", EIGHT)
def test_every_download_is_pinned(name):
    for source in dataset(name)["sources"]:
        if source["kind"] == "download":
            assert source["url"].startswith("https://") and len(source["sha256"]) == 64
            local = dataset(name)["sources"][0]["sha256"]
            assert local[source["sha256"]] == source["standing"]  # one file, one standing
