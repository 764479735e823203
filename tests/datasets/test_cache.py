"""Downloads are checked by their hash and kept only when right; parsed tables are cached."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from dataset_support import ARCHIVE, EIGHT, dataset

from sdsl.core.rows import Table
from sdsl.core.state import load_state
from sdsl.datasets import cache, load, sources
from sdsl.errors import UserError

TEXT = "1.0,2.0,a\n3.0,4.0,b\n" * 10
BYTES = TEXT.encode()
SHA256 = hashlib.sha256(BYTES).hexdigest()
GIT_BLOB = hashlib.sha1(b"blob 200\0" + BYTES).hexdigest()


def kept(data) -> list[Path]:
    return sorted(path for path in Path(data.cache).rglob("*") if path.is_file())


@pytest.fixture
def remote(tmp_path, data, monkeypatch):
    """remote(hash): loads rows.csv from a server on this machine, which must have this hash."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "rows.csv").write_bytes(BYTES)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def fetch(expected: str, download: bool = True, port: int = server.server_port):
        data.download, section = download, dataset("ug_2c_3d", expect=None)
        url = f"http://127.0.0.1:{port}/rows.csv"
        section["sources"][0] |= {"url": url, "hashes": {expected: "original"}}
        return load(section, data)

    yield fetch
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("expected", [SHA256, GIT_BLOB])
def test_a_download_is_kept_and_never_trusted_when_damaged(expected, remote, data, tmp_path):
    assert remote(expected, download=False).standing == "stand-in" and kept(data) == []
    table = remote(expected)
    assert (len(table.y), table.standing, table.sha256) == (20, "original", SHA256)
    assert table.source.startswith("download http://127.0.0.1:")
    file = kept(data)[0]
    file.write_bytes(BYTES[:-10])  # noticed, and fetched again
    assert remote(expected).digest() == table.digest() and file.read_bytes() == BYTES
    (tmp_path / "served" / "rows.csv").unlink()
    assert remote(expected).digest() == table.digest()  # from the cache


def test_a_download_that_is_wrong_or_fails_leaves_nothing(remote, data, tmp_path):
    for expected in ("0" * 64, "0" * 40):
        with pytest.raises(UserError, match=f"wrong checksum, not kept. Expected {expected}"):
            remote(expected)
    with pytest.raises(UserError, match=r"download failed.*data\.download=false"):
        remote(SHA256, port=9)
    (tmp_path / "served" / "rows.csv").unlink()
    with pytest.raises(UserError, match=r"download failed.*data\.root"):
        remote(SHA256)
    assert kept(data) == []


@pytest.mark.parametrize("name", [*EIGHT, *ARCHIVE])
def test_every_download_is_pinned(name):
    for source in dataset(name)["sources"]:
        host, _, path = source.get("url", "").partition("githubusercontent.com/")
        if host:
            assert host == "https://raw." and len(path.split("/")[2]) == 40  # a commit, no branch
        assert all(len(found) in (40, 64) for found in source.get("hashes", {}))


def test_a_parsed_table_comes_from_the_cache_with_its_bits(own, data, monkeypatch):
    first, (entry,) = own(TEXT), kept(data)
    whole = entry.read_bytes()
    other = whole[:-1] + bytes([whole[-1] ^ 1])  # another number
    for damaged in (b"", whole[:100], whole[:-1], b"PK" + whole, other):
        entry.write_bytes(damaged)
        assert own(TEXT).digest() == first.digest()
        assert Table(**load_state(entry)["table"]).digest() == first.digest()
    monkeypatch.setattr(sources, "framed", lambda *_: pytest.fail("parsed again"))
    again = own(TEXT)
    assert again.digest() == first.digest()
    assert vars(again) | {"X": 0, "y": 0} == vars(first) | {"X": 0, "y": 0}


@pytest.mark.parametrize(
    ("content", "changes", "x", "classes"),
    [
        (TEXT.replace("4.0", "5.0"), {}, [3, 5], ("a", "b")),
        (TEXT, {"label": 0, "drop": ["2"]}, [4], ("1", "3")),
        (TEXT, {"use": ["1", "0"]}, [4, 3], ("a", "b")),
    ],
)
def test_other_bytes_or_settings_are_read_anew(content, changes, x, classes, own):
    own(TEXT)
    table = own(content, **changes)
    assert table.X[1].tolist() == x and table.classes == classes


def test_a_full_disk_costs_the_entry_and_not_the_run(own, data, monkeypatch):
    def full(*_):
        raise UserError("No space left on device")

    monkeypatch.setattr(cache, "save_state", full)
    assert len(own(TEXT).y) == 20 and kept(data) == []
