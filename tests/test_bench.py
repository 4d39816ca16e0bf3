"""What the comparison of runners runs: programs that each of the other ways can run."""

from __future__ import annotations

from hooks import programs
from tests import bench


def test_every_program_of_the_sample_runs_without_a_file_beside_it() -> None:
    sample = bench.chosen([])
    assert len(sample) == bench.SAMPLE
    assert not any(p.options.files or "__file__" in p.source or "sys.argv" in p.source for p in sample)


def test_programs_are_chosen_by_parts_of_their_paths() -> None:
    one = bench.chosen([])[0]
    assert one in bench.chosen([one.path])
    with_files = next(p for p in programs.all_programs() if p.options.files)
    assert bench.chosen([with_files.path]) == []
