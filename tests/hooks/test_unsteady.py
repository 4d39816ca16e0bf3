"""The claims that are listed as unsteady: why each is, and that nothing rests on one."""

from __future__ import annotations

import pytest

from hooks import programs, records, reference, unsteady


@pytest.mark.parametrize("listed", sorted(unsteady.listed()))
def test_a_record_from_a_gpu_keeps_its_program_from_being_mended(listed: str) -> None:
    path, _, name = listed.partition(":")
    assert name in records.current(programs.load(path), "gpu").claims


@pytest.mark.parametrize("listed", sorted(unsteady.listed()))
def test_nothing_rests_on_it(listed: str) -> None:
    with pytest.raises(reference.Missing, match="is listed as unsteady"):
        reference.entry(reference.parse(listed), "claims")
