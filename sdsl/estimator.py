"""StreamClassifier: labels a drifting stream segment by segment, as scikit-learn would have it.

    model = StreamClassifier(method="ours", seed=0).fit(X0, y0)   # gold
    labels = model.adapt(X1)                                      # label a new segment, update
    model.predict(X), model.predict_proba(X), model.history_
    model.save("state.sdsl"); StreamClassifier.load("state.sdsl")

Each call drives the same step function as `python -m sdsl.run`, with the same bits.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sdsl.config.registry import own_modules
from sdsl.core import state
from sdsl.errors import UserError
from sdsl.use import history
from sdsl.use.following import Following
from sdsl.use.method_config import method_config, method_setup
from sdsl.use.saved import KIND, plain_model

DEFAULT_METHOD = "tracker"  # the one that the results recommend


class StreamClassifier(ClassifierMixin, BaseEstimator):
    """A method of conf/method that follows a stream of which only the first rows have labels.

    Parameters
    ----------
    method : a name in conf/method, or in the `method` folder of config_dir
    seed : the same seed, data and machine give the same bits
    overrides : settings of the method, such as {"lookback.size": 50}
    config_dir : a folder with YAML files of your own, laid out like conf/

    Attributes
    ----------
    classes_ : the labels, sorted
    history_ : one row per segment: gold trust, drift, class shares, confidence, warnings, ...
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        seed: int = 0,
        overrides: Mapping[str, Any] | None = None,
        config_dir: str | Path | None = None,
    ):
        self.method = method
        self.seed = seed
        self.overrides = overrides
        self.config_dir = config_dir

    def fit(self, X: Any, y: Any) -> Self:
        """Take gold: the labelled rows. Training waits for the first segment, see `adapt`."""
        return self.fit_config(X, y, None)

    def fit_config(self, X: Any, y: Any, config: Mapping[str, Any] | None) -> Self:
        """`fit` under a config that is composed already; None: compose it from the parameters."""
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"The gold labels hold one class only ({classes[0]!r}); expected at least two: a "
                "class without a gold label can never be predicted."
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise UserError(f"seed={self.seed!r}: expected a whole number, 0 or more.")
        if self.seed < 0:
            raise UserError(f"seed={self.seed}: expected a whole number, 0 or more.")
        if config is None:
            config = method_config(self.method, self.overrides, self.config_dir)
        method_setup(config)
        names = [str(c) for c in classes]
        self.classes_ = classes
        self.following_ = Following(config, X, codes, names, int(self.seed))
        return self

    def adapt(self, X: Any) -> np.ndarray:
        """The labels of a new segment; the model is updated by it.

        These are the method's own labels of the segment. A method that gives none (st, dann, eaml,
        cotta, sar) is asked for its predictions after the update. An empty segment gives an empty
        array and changes nothing.
        """
        return self.adapt_with_confidence(X)[0]

    def adapt_with_confidence(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(labels, the updated model's probability of each); otherwise the same as `adapt`."""
        check_is_fitted(self)
        codes, confidence = self.following_.step(self._checked(X))
        return self.classes_[codes], confidence

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Any:
        """The same as `adapt`; on a model that has no gold yet, `fit`, if labels are given.

        Labels that come later than gold are refused: the methods have no use for them.
        """
        if not hasattr(self, "following_"):
            if y is None:
                raise UserError("There is no gold yet: call fit(X, y) with the labelled rows.")
            return self.fit(X, y)
        X = self._checked(X)
        if y is not None:
            raise ValueError(
                "The model has its gold labels already and cannot use later ones: call "
                "partial_fit(X) without labels, or fit(X, y) to begin again."
            )
        return self.classes_[self.following_.step(X)[0]]

    def predict(self, X: Any) -> np.ndarray:
        """Labels by the model as it is now, which stays as it is.

        Before the first `adapt` the model is fitted to gold alone, and so is its scale.
        """
        check_is_fitted(self)
        return self.classes_[self.following_.predict(self._checked(X))]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n, classes], in the order of classes_.

        A row that is more than twice as far from gold and from the last segment as their own rows
        are (farness r > 2, see sdsl/use/summary.py) gets (2/r)^2 p + (1 - (2/r)^2) / C: its label
        stays, its certainty goes.
        """
        check_is_fitted(self)
        return self.following_.probabilities(self._checked(X))

    @property
    def history_(self) -> pd.DataFrame:
        """One row per segment; the columns are explained in sdsl/use/README.md."""
        check_is_fitted(self)
        return history.table(self.following_.records, self.following_.classes)

    def save(self, path: str | Path) -> None:
        """Write one file, whole or not at all; it can be read without running anything."""
        check_is_fitted(self)
        params = self.get_params() | {"seed": int(self.seed)}
        names = getattr(self, "feature_names_in_", None)
        held = plain_model(params, self.classes_, self.n_features_in_, names, self.following_)
        state.save_state(path, held, own_modules(self.following_.config))

    @classmethod
    def load(cls, path: str | Path, modules: Sequence[str] = ()) -> Self:
        """The model as it was saved; it goes on bit for bit.

        modules: of your own components in it, such as ["lab.neighbours"]; no others are imported.
        """
        held = state.load_state(path, modules)
        if not isinstance(held, dict) or held.get("kind") != KIND:
            raise UserError(f"{path}: a state of sdsl, but not of a {KIND}.")
        try:
            model = cls(**held["params"])
            values, dtype = held["classes"]["values"], held["classes"]["dtype"]
            model.classes_ = np.array(values, dtype=np.dtype(dtype))
            model.n_features_in_ = held["features"]
            if held["feature_names"] is not None:
                model.feature_names_in_ = np.array(held["feature_names"], dtype=object)
            model.following_ = Following.from_plain(held["following"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{path}: damaged ({type(error).__name__}: {error}).") from None
        return model

    def _checked(self, X: Any) -> np.ndarray:
        return validate_data(self, X, dtype=np.float32, reset=False, ensure_min_samples=0)
