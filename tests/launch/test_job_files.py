"""What submitit writes to files: no login of the store."""

import cloudpickle
from cli import ROOT
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from omegaconf import open_dict, read_write

from sdsl.launch.remote import for_a_file
from sdsl.launch.steps import Steps
from sdsl.launch.types import Job, Place
from sdsl.tracking.provenance import JobTags

URI = "http://user:s3cr3t@127.0.0.1:5000"


def job(uri: str) -> Job:
    """As Hydra composes it, with all that it keeps of the command line."""
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        words = [f"tracking.uri='{uri}'", "method=st"]
        config = compose("config", words, return_hydra_config=True)
    with read_write(config), open_dict(config.hydra):
        config.hydra.job.override_dirname = ",".join(words)
    return Job(0, JobTags("s", 0, True), "", config, Place(uri, "sdsl"), 1, 1.0, None, Steps("", 0))


def test_a_job_in_a_file_holds_no_password(monkeypatch):
    monkeypatch.setenv("SDSL_HOME", str(ROOT))
    kept = for_a_file(job(URI))
    assert b"s3cr3t" not in cloudpickle.dumps(kept)
    again = cloudpickle.loads(cloudpickle.dumps(kept))
    assert again.config.tracking.uri == URI  # from the environment
    assert "***@127.0.0.1:5000" in again.config.hydra.overrides.task[0]
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)
    HydraConfig.instance().set_config(again.config)  # Hydra knows it as one of its own


def test_a_store_without_a_login_is_written_as_it_is(monkeypatch):
    monkeypatch.setenv("SDSL_HOME", str(ROOT))
    plain_job = job("http://127.0.0.1:5000")
    assert for_a_file(plain_job) is plain_job
