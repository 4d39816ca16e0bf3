"""A number of runs that makes no sense is refused with the option's name, not with a traceback."""

from __future__ import annotations

import argparse

import pytest

from tests import number


def parsed(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=number.positive, default=3)
    parser.add_argument("--copies", type=number.positives, default="1,4")
    return parser.parse_args(given)


def test_numbers_are_read_also_the_default() -> None:
    assert (parsed().runs, parsed().copies) == (3, [1, 4])
    assert (parsed("--runs", "20").runs, parsed("--copies", "2").copies) == (20, [2])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--runs", "0"), "argument --runs: 0 is less than 1"),
        (("--runs", "-3"), "argument --runs: -3 is less than 1"),
        (("--runs", "x"), "argument --runs: invalid positive value: 'x'"),
        (("--copies", "1,0"), "argument --copies: 0 is less than 1"),
        (("--copies", "1,,4"), "argument --copies: invalid positives value: '1,,4'"),
    ],
)
def test_others_are_refused(given: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parsed(*given)
    assert stopped.value.code == 2
    assert says in capsys.readouterr().err
