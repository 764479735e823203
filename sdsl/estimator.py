"""StreamClassifier: labels a drifting stream segment by segment, as a scikit-learn class.

    model = StreamClassifier(method="steady", seed=0).fit(X0, y0)   # gold
    labels = model.adapt(X1)                                      # label a new segment, update
    model.predict(X), model.predict_proba(X), model.history_
    model.save("state.sdsl"); StreamClassifier.load("state.sdsl")

Each call drives the same step function as `python -m sdsl.run`, with the same bits.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from sdsl.config import composed
from sdsl.config.refusals import REFUSED, message
from sdsl.datasets.columns import prepare
from sdsl.errors import UserError
from sdsl.use.checks import By
from sdsl.use.follower import ARRAYS, Follower, loaded

# The settings that a stream without labels has; the others belong to an evaluation.
METHOD = ("labeler", "replay", "lookback", "learner", "stream.scaler")


class StreamClassifier(ClassifierMixin, BaseEstimator):
    """A method of conf/method that follows a stream of which only the first rows have labels.

    Parameters
    ----------
    method : a name in conf/method, or in the `method` folder of config_dir
    seed : the same seed, data and machine give the same bits
    overrides : settings of the method, such as {"lookback.size": 50}
    config_dir : a folder with YAML files of your own, laid out like conf/
    base : a scikit-learn classifier with predict_proba that votes alone, in the place of the four
        of conf/labeler/vote.yaml; for the methods steady and vote
    abstain : rows with less confidence get no label from `adapt` but None
    ask : so many rows of each segment are drawn to be checked by hand, see `to_check_`
    ask_by : "random", or "doubt" to draw doubtful rows more often

    Attributes
    ----------
    classes_ : the labels, sorted
    history_ : one row per segment: estimated accuracy, drift, class shares, warnings, ...
    to_check_ : the rows that were drawn and not checked yet
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    """

    def __init__(
        self,
        method: str = "steady",
        seed: int = 0,
        overrides: Mapping[str, Any] | None = None,
        config_dir: str | Path | None = None,
        base: BaseEstimator | None = None,
        abstain: float = 0.0,
        ask: int = 0,
        ask_by: By = "random",
    ):
        self.method = method
        self.seed = seed
        self.overrides = overrides
        self.config_dir = config_dir
        self.base = base
        self.abstain = abstain
        self.ask = ask
        self.ask_by = ask_by

    def fit(self, X: Any, y: Any) -> Self:
        """Take gold: the labelled rows. Training waits for the first segment, see `adapt`.

        Columns of a pandas frame may be numbers, text or times; gold decides how they are read.
        """
        config = method_config(self.method, self.overrides, self.config_dir)
        if self.base is not None:
            section = config["labeler"].get("vote", config["labeler"])
            if "learners" not in section:
                raise UserError(
                    f"base= needs a method that votes (steady, vote), not {self.method}."
                )
            section["learners"] = [described(self.base)]
        return self.fit_config(X, y, config)

    def fit_config(self, X: Any, y: Any, config: Mapping[str, Any]) -> Self:
        """`fit` under a config that is composed already."""
        if type(self.seed) is bool or not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise UserError(f"seed={self.seed!r}: expected a whole number, 0 or more.")
        if self.ask_by not in ("random", "doubt"):
            raise UserError(f"ask_by={self.ask_by!r}: expected random or doubt.")
        X, columns = _pandas(X), ARRAYS
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, skip_check_array=True)
            check_consistent_length(X, y := column_or_1d(y))
            X = X.rename(columns=str)
            columns = prepare(X, "", keep=list(X.columns))
            X = columns.transform(X)
        else:
            X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(
                f"The gold labels hold one class only ({labels[0]!r}); expected at least two: a "
                "class without a gold label can never be predicted."
            )
        return self._take(Follower(config, X, codes, labels, int(self.seed), columns))

    def _take(self, follower: Follower) -> Self:
        self.follower_, self.classes_ = follower, follower.labels
        return self

    def adapt(self, X: Any) -> np.ndarray:
        """The labels of a new segment; the model is updated by it.

        These are the method's own labels of the segment. A method that gives none (st, dann, eaml,
        cotta, sar) is asked for its predictions after the update. An empty segment gives an empty
        array and changes nothing. With `abstain` the array is of objects, None where there is no
        label.
        """
        check_is_fitted(self)
        step = self.follower_.step
        y, confidence = step(self._features(X), self.abstain, self.ask, self.ask_by)
        labels = self.classes_[y]
        if self.abstain:
            labels = labels.astype(object)
            labels[confidence < self.abstain] = None
        return labels

    def check(self, rows: pd.DataFrame, learn: bool = False) -> dict[str, float]:
        """The accuracy by rows of `to_check_` whose `correct_label` was filled in, some or all.

        learn: these rows join gold, and the vote is fitted again.
        """
        check_is_fitted(self)
        return self.follower_.check(rows, learn)

    @property
    def to_check_(self) -> pd.DataFrame:
        """Rows that were drawn: `segment` counts from 1 as history_ does, `row` from 0."""
        check_is_fitted(self)
        return self.follower_.checks.waiting().drop(columns="file")

    def predict(self, X: Any) -> np.ndarray:
        """Labels by the model as it is now, which stays as it is.

        Before the first `adapt` the model is fitted to gold alone, and so is its scale.
        """
        check_is_fitted(self)
        return self.classes_[self.follower_.predict(self._features(X))]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n, classes], in the order of classes_; near even for rows far from all."""
        check_is_fitted(self)
        return self.follower_.probabilities(self._features(X))

    @property
    def history_(self) -> pd.DataFrame:
        """One row per segment; the columns are explained in sdsl/use/README.md."""
        check_is_fitted(self)
        return self.follower_.history()

    def save(self, path: str | Path) -> None:
        """Write one file, whole or not at all; reading it runs no code of its own."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        params |= {"config_dir": self.config_dir and str(self.config_dir)}
        params["base"] = None  # the config has its class and parameters
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else names.tolist()
        self.follower_.save(path, params=params, features=self.n_features_in_, names=names)

    @classmethod
    def load(cls, path: str | Path, modules: Sequence[str] = ()) -> Self:
        """The model as it was saved; it goes on bit for bit.

        modules: of your own components in it, such as ["lab.neighbours"]; no others are imported.
        """
        with loaded(path, modules) as (follower, state):
            if "params" in state:
                params, names, features = (state[key] for key in ("params", "names", "features"))
            else:  # of `sdsl.label`, or logged in MLflow
                params = {"method": follower.config["method"]["name"], "seed": follower.seed}
                names = [column.name for column in follower.columns.columns]
                features = len(names)
            model = cls(**params)
            model.n_features_in_ = features
            if names is not None:
                model.feature_names_in_ = np.array(names, dtype=object)
            return model._take(follower)

    def _features(self, X: Any) -> np.ndarray:
        """[n, d] float32, with names and types as in gold."""
        X = _pandas(X)
        columns = self.follower_.columns
        if not columns.features:
            return validate_data(self, X, dtype=np.float32, reset=False, ensure_min_samples=0)
        validate_data(self, X, reset=False, skip_check_array=True)
        if not isinstance(X, pd.DataFrame):
            names = getattr(self, "feature_names_in_", range(self.n_features_in_))
            X = pd.DataFrame(np.asarray(X), columns=names)
        return columns.transform(X.rename(columns=str))


def load_run(run_id: str, uri: str | None = None, modules: Sequence[str] = ()) -> StreamClassifier:
    """The model of a run that was logged with tracking.model=true; it can adapt further.

    modules: of your own components, as in StreamClassifier.load.
    """
    from sdsl.use.served import downloaded  # MLflow takes seconds

    with downloaded(run_id, uri) as file:
        return StreamClassifier.load(file, modules)


def method_config(
    method: str, overrides: Mapping[str, Any] | None, config_dir: str | Path | None
) -> dict[str, Any]:
    """The config that `python -m sdsl.run` would compose; refuses settings without effect."""
    overrides, folder = overrides or {}, config_dir and Path(config_dir).expanduser()
    for key in overrides:
        if not key.startswith(METHOD):
            expected = f"expected settings of {', '.join(METHOD)}"
            raise UserError(f"overrides: '{key}' has no effect without labels; {expected}.")
    if folder and not folder.is_dir():
        raise UserError(f"config_dir={config_dir}: no such folder.")
    words = [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in overrides.items()]
    try:
        return composed(f"method={method}", *words, config_dir=str(folder) if folder else None)
    except REFUSED as error:
        raise UserError(message(error)) from None


def described(estimator: BaseEstimator) -> dict[str, Any]:
    """A scikit-learn estimator as a config: its class and parameters, estimators among them too."""
    cls, found = type(estimator), {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, BaseEstimator):
            value = described(value)
        elif not isinstance(value, str | int | float | None):
            try:
                value = json.loads(json.dumps(value))
            except TypeError:
                why = f"{cls.__name__}({name}={value!r}) cannot be written into a file"
                raise UserError(f"base: {why}. Give numbers, texts, lists or estimators.") from None
        found[name] = value
    return {"_target_": f"{cls.__module__}.{cls.__qualname__}", **found}


def _pandas(X: Any) -> Any:
    """A Polars frame as a pandas one; anything else as it is."""
    return X.to_pandas() if hasattr(X, "to_pandas") else X
