"""sdsl: semi-supervised drifted stream learning with short lookback (KDD 2022), reproduced."""

__version__ = "0.1.0"
