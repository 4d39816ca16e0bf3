"""Archives that are the same bytes each time."""

from __future__ import annotations

import io
import zipfile

from hooks import archive, moment

FILES = {"b/two.txt": b"two" * 100, "a.txt": b"one"}


def test_an_archive_holds_the_files_in_order_with_one_time() -> None:
    with zipfile.ZipFile(io.BytesIO(archive.zipped(FILES, 1_700_000_000))) as held:
        assert held.testzip() is None
        assert {name: held.read(name) for name in held.namelist()} == FILES
        assert held.namelist() == list(FILES)
        assert {info.date_time for info in held.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        assert {info.external_attr >> 16 for info in held.infolist()} == {0o644}


def test_the_same_files_give_the_same_bytes() -> None:
    assert archive.zipped(FILES, 1_700_000_000) == archive.zipped(FILES, 1_700_000_000)
    assert archive.zipped(FILES, 1_700_000_000) != archive.zipped(FILES, 1_800_000_000)


def test_the_earliest_time_fits_into_an_archive() -> None:
    with zipfile.ZipFile(io.BytesIO(archive.zipped(FILES, moment.EARLIEST))) as held:
        assert held.infolist()[0].date_time[:3] == (1980, 1, 2)
