"""Extra baselines and controls: fusing seeds changes no bit, hidden labels change nothing."""

import numpy as np
import pytest
import support

FREE = ["scargc", "gst", "cotta", "sar"]
DATA = support.blobs(rows=900, classes=3, drift=2.0, spread=1.2)


@pytest.mark.parametrize("method", [*FREE, "oracle_labels", "static_bound"])
def test_fused_equals_alone_bit_for_bit(method):
    fused = support.run(f"method={method}", seeds=(10, 11, 12), data=DATA).outcome
    assert np.isfinite(fused.R).all()
    for s, seed in enumerate((10, 11, 12)):
        alone = support.run(f"method={method}", seeds=(seed,), data=DATA).outcome
        assert np.array_equal(alone.R[0], fused.R[s])


@pytest.mark.parametrize("method", FREE)
def test_hidden_labels_change_no_prediction(method):
    """Other labels on the unlabelled parts: the same model, so R on the true test labels stays."""
    clean = support.run(f"method={method}", seeds=(10,), data=DATA)
    y = DATA.y.copy()
    hidden = clean.stream.unlabelled[0].flatten().numpy()
    y[hidden] = (y[hidden] + 1) % 3
    poisoned = support.run(f"method={method}", seeds=(10,), data=support.table(DATA.X, y))
    assert np.array_equal(clean.outcome.R, poisoned.outcome.R)
