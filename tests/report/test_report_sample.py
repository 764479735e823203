"""python -m sdsl.verify --sample: exported runs are run again from the export alone."""

from pathlib import Path

import numpy as np
from cli import TINY, call

from sdsl.report.runs import configs, export
from sdsl.report.runs.gather import gather
from sdsl.verify import main


def exported(folder: Path):
    """Four short runs of two methods, in a folder."""
    assert call("-m", *TINY, "method=st,record", "seed=0,5") == 0
    export.write(gather(None, short=True), folder)


def test_a_sample_of_exported_runs_is_rerun(here, capsys):
    exported(Path("kept"))
    Path("mlflow.db").unlink()  # the export is all that it needs
    capsys.readouterr()
    assert main(["--sample", "3", "--from", "kept"]) == 0
    out = capsys.readouterr().out
    assert out.count("same bits") == 3 and "3 of 3 are bit-identical" in out
    assert main(["--sample", "9", "--from", "kept", "--seed", "1"]) == 0
    assert "4 of 4 are bit-identical; the largest difference is 0." in capsys.readouterr().out

    changed = export.read(Path("kept"))
    run = changed.frame.index[0]
    changed.R[run][0, 0] += 1 / changed.frame.test_rows[run]  # one row more counted as right
    export.write(changed, Path("kept"))
    assert main(["--sample", "4", "--from", "kept"]) == 1
    out = capsys.readouterr().out
    assert "R differs by up to" in out and "3 of 4 are bit-identical" in out


def test_a_folder_without_configs_says_what_to_do(here, capsys):
    exported(Path("kept"))
    (Path("kept") / configs.FILE).unlink()
    assert main(["--sample", "2", "--from", "kept"]) == 2
    assert "exported by an older version" in capsys.readouterr().err
    (Path("kept") / configs.FILE).write_bytes(b"not xz")
    assert main(["--sample", "2", "--from", "kept"]) == 2
    assert "configs.json.xz cannot be read" in capsys.readouterr().err


def test_another_shape_or_another_filled_cell_is_a_difference():
    from sdsl.report.sample import largest_difference

    R = np.array([[0.5, np.nan], [0.25, 1.0]])
    assert largest_difference(R, R.copy()) == 0
    assert largest_difference(R, np.nan_to_num(R)) == np.inf
    assert largest_difference(R, R[:1]) == np.inf
    assert largest_difference(R, R + 0.125) == 0.125
