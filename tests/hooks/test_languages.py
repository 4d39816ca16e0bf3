"""Each language is checked by what can really read it."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from hooks import languages
from hooks.blocks import Block
from tests.child import LEAVES
from tests.until import LONG

if TYPE_CHECKING:
    from pathlib import Path


def block(language: str, code: str, *, run: str = "", **attributes: str) -> Block:
    named = {f"data-{key}": value for key, value in attributes.items()}
    return Block("docs/page.md", 7, 9, language, code, run=run, why="x" if run else "", attributes=named)


GOOD = [
    ("bash", "test -n a\n"),
    ("console", "$ ls \\\n> -l\nfile\n$ echo a\n"),
    ("diff", "--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
    ("diff", "- old\n+ new\n"),
    ("dockerfile", 'ARG V=1\nFROM tensorflow/serving:${V} AS base\nCOPY a \\\n  b\nCMD ["x"]\n'),
    ("html", "<!doctype html><html lang=en><head><title>a</title></head><body><p>b</p></body></html>\n"),
    ("html", "<p>a <b>b</b></p>\n"),
    ("ini", "[a]\nb = 1\n"),
    ("js", "import fs from 'node:fs';\nconst x = await 1;\nif (x !== 1) throw new Error();\n"),
    ("json", '{"a": [1, 2]}\n'),
    ("markdown", "```python\nx\n```\n\n/// note | a\n///\n"),
    ("text", "words\n"),
    ("toml", "a = 1\n"),
    ("yaml", "a: 1\n---\nb: 2\n"),
]
BAD = [
    ("bash", "if then\n", "exit status"),
    ("bash", "false\n", "exit status 1"),
    ("bash", "false | true\n", "exit status 1"),
    ("bash", "echo $UNSET_VARIABLE_X\n", "unbound"),
    ("console", "ls\n", "commands after"),
    ("console", "$ if then\n", "exit status"),
    ("diff", "--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n", "does not have the lines"),
    ("diff", "hello\n", "is no line of a diff"),
    ("dockerfile", "FORM a\n", "FORM is no instruction"),
    ("dockerfile", "RUN a\nFROM b\n", "begins with FROM"),
    ("html", "<p>a</b>\n", "not valid HTML"),
    ("html", "<!doctype html><title>a", "not valid HTML"),
    ("ini", "a = 1\n", "no section"),
    ("js", "let = ;\n", "SyntaxError"),
    ("js", "throw new Error('boom')\n", "boom"),
    ("json", "{'a': 1}\n", "property name"),
    ("json", '{"b": {"a": 1, "a": 2}}\n', "the key 'a' stands twice"),
    ("json", '{"a": NaN}\n', "JSON has no NaN"),
    ("markdown", "```python\nx\n", "never closed"),
    ("markdown", "/// note | a\n", "never closed"),
    ("python", "x = (\n", "never closed"),
    ("toml", "a = \n", "Invalid"),
    ("yaml", "a: [1\n", "expected"),
    ("yaml", "b: 0\n---\na: 1\na: 2\n", "the key 'a' stands twice (line 4)"),
]


@pytest.mark.parametrize(("language", "code"), GOOD)
def test_holds(language: str, code: str, tmp_path: Path) -> None:
    languages.check(block(language, code), root=tmp_path)


@pytest.mark.parametrize(("language", "code", "says"), BAD)
def test_does_not_hold(language: str, code: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(languages.CheckError) as raised:
        languages.check(block(language, code), root=tmp_path)
    where = "docs/page.md:8" if language == "markdown" else "docs/page.md:7"  # Markdown's own line is known
    assert str(raised.value).startswith(f"{where}: this {language} block does not hold: ")
    assert says in str(raised.value)


def test_every_language_has_a_good_and_a_bad_block() -> None:
    good, bad = ({language for language, *_ in table} for table in (GOOD, BAD))
    elsewhere = {"python", "sh", "textproto"}  # the runner's, the same as bash, and the test below
    assert good | elsewhere == set(languages.LANGUAGES)
    assert bad | elsewhere | {"text"} == set(languages.LANGUAGES)


def test_shell_runs_in_a_copy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    languages.check(block("sh", "grep here file && echo gone > file && rm file"), root=tmp_path)
    assert (tmp_path / "file").read_text() == "here"


def test_what_does_not_run_is_still_read(tmp_path: Path) -> None:
    languages.check(block("sh", "false", run="no"), root=tmp_path)
    languages.check(block("js", "throw 1", run="no"), root=tmp_path)
    languages.check(block("python", "import no_such_module", run="no"), root=tmp_path)
    with pytest.raises(languages.CheckError):
        languages.check(block("sh", "if then", run="no"), root=tmp_path)


def test_a_command_finds_nothing_of_the_contributor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings").write_text("exit 3\n")
    for name in ("BASH_ENV", "GIT_DIR", "HOME", "NODE_OPTIONS", "TF_X", "TMPDIR", "XDG_CONFIG_HOME"):
        value = "--no-such-option" if name == "NODE_OPTIONS" else str(tmp_path / "settings")
        monkeypatch.setenv(name, value)
    empty = 'test -d "$HOME" && test -z "$(ls -A "$HOME")" && test -d "$TMPDIR" && touch "$HOME/a" "$TMPDIR/b"\n'
    unset = 'test -z "${BASH_ENV-}${GIT_DIR-}${TF_X-}${XDG_CONFIG_HOME-}"\n'
    languages.check(block("bash", empty + unset), root=tmp_path)
    languages.check(block("js", "import os from 'node:os';\nos.tmpdir();\n"), root=tmp_path)


def test_a_time_limit_ends_it_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "SECONDS", 1)
    start = time.monotonic()
    with pytest.raises(languages.CheckError, match=r"still ran after \d+ s"):
        languages.check(block("sh", f"sleep {LONG} & sleep {LONG}"), root=tmp_path)
    assert time.monotonic() - start < LONG / 2


def test_what_a_command_leaves_running_is_an_error_and_ends(tmp_path: Path) -> None:
    """Also in a session of its own, where no signal to the command's group reaches it."""
    with pytest.raises(languages.CheckError, match=rf"it left running:\nsleep {LONG} \(process \d+\)") as caught:
        languages.check(block("sh", LEAVES), root=tmp_path)
    number = re.search(r"process (\d+)", str(caught.value))
    assert number
    assert not psutil.pid_exists(int(number[1]))


def test_protobuf_text_is_read_as_its_message(tmp_path: Path) -> None:
    good = 'model_config_list { config { name: "m" base_path: "/models/m" model_platform: "tensorflow" } }'
    languages.check(block("textproto", good, message="tensorflow.serving.ModelServerConfig"), root=tmp_path)
    wrong = block("textproto", "model_config_list { confg { } }", message="tensorflow.serving.ModelServerConfig")
    with pytest.raises(languages.CheckError, match='no field named "confg"'):
        languages.check(wrong, root=tmp_path)
    with pytest.raises(languages.CheckError, match=r"defines the message tensorflow\.serving\.Nothing"):
        languages.check(block("textproto", "", message="tensorflow.serving.Nothing"), root=tmp_path)
    with pytest.raises(languages.CheckError, match="name its message"):
        languages.check(block("textproto", "a: 1"), root=tmp_path)


def test_a_command_runs_in_a_copy_of_what_is_written(tmp_path: Path) -> None:
    left_out = ("site/index.html", ".venv/bin/python", ".git/HEAD", "tests/.list.7.part")  # the last may go meanwhile
    for name in ("mkdocs.yml", "tests/site/test_it.py", *left_out):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    check = 'test "$(find . -type f | sort | xargs)" = "./mkdocs.yml ./tests/site/test_it.py"\n'
    languages.check(block("bash", check), root=tmp_path)
