"""sdsl: semi-supervised drifted stream learning with short lookback (KDD 2022), reproduced."""

import os

# MKL's results depend on memory alignment, and so on which replicas run side by side, unless it is
# told to be strict. Read when torch first multiplies, so it has to be set here.
os.environ.setdefault("MKL_CBWR", "AVX2,STRICT")

__version__ = "0.1.0"
