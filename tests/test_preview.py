"""What waits for an edit: it takes no silence for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.preview import wait
from tests.site.serve import reserved, serving

if TYPE_CHECKING:
    from pathlib import Path


def test_a_text_is_gone_from_a_page_that_is_served_without_it(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("here")
    with serving(tmp_path) as home:
        wait(home, "here", 10)
        wait(home, "there", 10, gone=True)
        with pytest.raises(TimeoutError, match="still shows 'here'"):
            wait(home, "here", 0.2, gone=True)


def test_a_server_that_does_not_answer_proves_nothing() -> None:
    with reserved() as port, pytest.raises(TimeoutError, match="still is not served, with or without 'here'"):
        wait(f"http://127.0.0.1:{port}/", "here", 0.2, gone=True)
