"""Downloads, from a server of the test's own: checked by their hash, kept only when right."""

import hashlib
import io
import re
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from dataset_support import ARCHIVE, EIGHT, dataset

from sdsl.config.schema import DataConfig
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


def files(data: DataConfig) -> list[Path]:
    return sorted(p for p in Path(data.cache).rglob("*") if p.is_file())


def remote(url: str, sha256: str) -> dict:
    settings = dataset("ug_2c_2d") | {"expect": {}}
    settings["sources"][1] |= {"url": url, "sha256": sha256}
    return settings


def test_only_when_asked_for(data, address):
    assert load(remote(address, "0" * 64), data).standing == "regenerated"


def test_a_right_file_is_used_and_kept(data, address, tmp_path):
    data.download = True
    settings = remote(address, hashlib.sha256(TEXT.encode()).hexdigest())
    table = load(settings, data)
    assert (len(table.y), table.standing) == (3000, "original")
    assert table.source == f"download {address}"
    (tmp_path / "served" / "UG_2C_2D.txt").unlink()
    assert load(settings, data).sha256 == table.sha256  # from the cache


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(data, address):
    data.download = True
    with pytest.raises(UserError, match=r"wrong checksum.*Expected SHA-256 0000"):
        load(remote(address, "0" * 64), data)
    assert files(data) == []


def test_no_connection_says_what_to_do(data):
    data.download = True
    with pytest.raises(UserError, match=r"the download failed.*data\.download=false"):
        load(remote("http://127.0.0.1:9/UG_2C_2D.txt", "0" * 64), data)


def by_blob(url: str, blob: str) -> dict:
    """UG_2C_3D, whose original is known by its git blob only, at another address."""
    settings = dataset("ug_2c_3d") | {"expect": {}}
    assert "sha256" not in settings["sources"][1]
    settings["sources"][1] |= {"url": url, "git_blob": blob}
    return settings


def test_a_file_known_by_its_git_blob(data, address, tmp_path):
    data.download = True
    blob = hashlib.sha1(b"blob %d\0" % len(TEXT) + TEXT.encode()).hexdigest()
    table = load(by_blob(address, blob), data)
    assert (len(table.y), table.standing) == (3000, "original")
    (kept,) = files(data)[:1]
    kept.write_text(TEXT[:-10])  # damaged since: noticed, and fetched again
    assert load(by_blob(address, blob), data).sha256 == table.sha256
    (tmp_path / "served" / "UG_2C_2D.txt").unlink()
    assert load(by_blob(address, blob), data).sha256 == table.sha256  # from the cache


def test_a_wrong_git_blob_is_refused_and_nothing_is_kept(data, address):
    data.download = True
    with pytest.raises(UserError, match=r"wrong checksum.*not kept.*Expected git blob 0000"):
        load(by_blob(address, "0" * 40), data)
    assert files(data) == []


def test_the_spam_corpus_is_fetched(data, address, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("spam/spam.data", "1 0 1\n0 1 1\n" * 50)
        archive.writestr("spam/spam.labels", "1\n0\n" * 50)
    (tmp_path / "served" / "spam.zip").write_bytes(buffer.getvalue())
    settings = dataset("spam")
    sha256 = hashlib.sha256(buffer.getvalue()).hexdigest()
    url = address.replace("UG_2C_2D.txt", "spam.zip")
    settings["sources"][1] |= {"url": url, "zip_sha256": sha256, "words": 2, "expect": {}}
    assert load(settings, data).standing == "stand-in"  # only when asked for
    data.download = True
    table = load(settings, data)
    assert table.X.shape == (100, 2) and table.source == f"download {url}, 2 best words"
    settings["sources"][1]["zip_sha256"] = "0" * 64
    with pytest.raises(UserError, match="wrong checksum"):
        load(settings, data)


@pytest.mark.parametrize("name", [*EIGHT, *(f"archive/{name}" for name in ARCHIVE)])
def test_every_download_is_pinned(name):
    local = dataset(name)["sources"][0]
    for source in dataset(name)["sources"]:
        if "url" in source:
            assert source["url"].startswith("https://raw.githubusercontent.com/")
            assert re.search("/[0-9a-f]{40}/", source["url"])  # a commit, never a branch
        if source["kind"] == "corpus":
            assert len(source["zip_sha256"]) == 64
        if source["kind"] == "download":  # one file, one standing
            hashes = [key for key in ("sha256", "git_blob") if key in source]
            assert len(hashes) == 1
            assert local[hashes[0]][source[hashes[0]]] == source["standing"]
