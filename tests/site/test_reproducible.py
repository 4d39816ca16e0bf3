"""Builds of the same sources are the same, byte for byte: elsewhere, at another time, and from what one has kept."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from hooks import busy
from tests.site.builds import clock_ahead, contents

if TYPE_CHECKING:
    from pathlib import Path

    from tests.site.builds import Elsewhere


def different(one: Path, other: Path) -> list[str]:
    """Return the files that two sites do not share."""
    first, second = contents(one), contents(other)
    return sorted(path for path in first.keys() | second.keys() if first.get(path) != second.get(path))


def test_builds_are_equal_byte_for_byte(built_site: Path, elsewhere: Elsewhere) -> None:
    assert different(built_site, elsewhere.first) == []
    assert len(elsewhere.kept) > 50
    assert different(built_site, elsewhere.second) == []
    assert elsewhere.kept_again == elsewhere.kept


# Each way to ask for the time of day, as a day; `strptime` reads what the others write.
ASKED = """
import calendar, datetime, json, logging, time
record = logging.makeLogRecord({"created": 0})
assert logging.Formatter().formatTime(record, "%Y") in ("1969", "1970"), "a time that is given stays"
day, utc, moments = "%Y-%m-%d", datetime.timezone.utc, []
for moment in (time.time(), time.time_ns() / 1e9, calendar.timegm(time.gmtime()), time.mktime(time.localtime(None))):
    moments.append(datetime.datetime.fromtimestamp(moment).strftime(day))
for written in (time.ctime(), time.asctime()):
    moments.append(time.strftime(day, time.strptime(written)))
now = datetime.datetime.now(utc).astimezone(), datetime.datetime.now(), datetime.date.today()
print(json.dumps([*moments, time.strftime(day), *(one.strftime(day) for one in now)]))
"""


def test_the_clock_elsewhere_is_ahead_whoever_asks(tmp_path: Path) -> None:
    env = {**os.environ, **clock_ahead(tmp_path / "clock")}
    before = datetime.date.today()
    command = [sys.executable, "-c", ASKED]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=busy.stretched(60))
    days = {(datetime.date.fromisoformat(day) - before).days for day in json.loads(done.stdout)}
    assert days <= {400, 401}, "the day may change meanwhile"
