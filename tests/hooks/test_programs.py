"""Reading programs: what a good one gives, and one message for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks import programs
from hooks.errors import GuideError
from hooks.metadata import Options

GOOD = '''# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 2
# alone = true
# env = { TF_USE_LEGACY_KERAS = "1" }
# ///
"""Show one thing.

More words.
"""

# --8<-- [start:setup]
import math

if math.pi > 3:
    print("yes")
# --8<-- [end:setup]

for turn in range(2):
    # --8<-- [start:loop]
    print(turn)
    # --8<-- [end:loop]

claims = {"holds": True}
'''


def write(root: Path, text: str, path: str = "strategies/one.py") -> str:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return path


def mistake(root: Path, text: str) -> GuideError:
    path = write(root, text)
    with pytest.raises(GuideError) as caught:
        programs.load(path, root=root)
    assert caught.value.file.endswith("strategies/one.py")
    assert caught.value.cure
    return caught.value


def line_of(text: str, needle: str) -> int:
    return text[: text.index(needle)].count("\n") + 1


def test_a_good_program(tmp_path: Path) -> None:
    program = programs.load(write(tmp_path, GOOD), root=tmp_path)
    assert program.title == "Show one thing."
    assert program.path == "strategies/one.py"
    assert program.dependencies == ("tensorflow==2.21.*",)
    assert program.options == Options(devices=2, alone=True, env={"TF_USE_LEGACY_KERAS": "1"})
    assert list(program.sections) == ["setup", "loop"]
    setup, loop = program.sections.values()
    lines = GOOD.split("\n")
    assert lines[setup.first - 1] == "import math"
    assert lines[setup.last - 1] == '    print("yes")'
    assert loop.text == "print(turn)", "the text of a section is dedented"
    assert {program: 1}[program] == 1, "a program can be a key"


def test_options_have_defaults(tmp_path: Path) -> None:
    text = GOOD.replace(GOOD[GOOD.index("# [tool.guide]") : GOOD.index('# ///\n"""')], "")
    options = programs.load(write(tmp_path, text), root=tmp_path).options
    assert options == Options(devices=4, processes=1, seconds=60, alone=False, tolerance=1e-3, env={})


def test_an_edit_of_equal_length_is_seen_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    before = programs.load(path, root=tmp_path)
    assert programs.load(path, root=tmp_path) is before
    write(tmp_path, GOOD.replace("yes", "nay"))
    assert programs.load(path, root=tmp_path).sha256 != before.sha256


def test_all_programs_are_found_and_sorted(tmp_path: Path) -> None:
    for path in ("b/two.py", "a/one.py", ".hidden/x.py", "a/__pycache__/x.py"):
        write(tmp_path, GOOD, path)
    assert [program.path for program in programs.all_programs(root=tmp_path)] == ["a/one.py", "b/two.py"]


def test_an_unknown_program_suggests_near_names(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "strategies/mirrored.py")
    with pytest.raises(GuideError, match=r"no program 'strategies/mirrord.py'.*did you mean `strategies/mirrored.py`"):
        programs.load("strategies/mirrord.py", root=tmp_path)


@pytest.mark.parametrize("path", ["../hooks/errors.py", "/etc/hosts.py", "strategies/mirrored", "one.py"])
def test_a_path_outside_the_sections_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(GuideError, match="not a path of a program"):
        programs.load(path, root=tmp_path)


def test_a_program_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    (tmp_path / path).write_bytes(b"\xff\xfe" + GOOD.encode())
    with pytest.raises(GuideError, match="cannot be read"):
        programs.load(path, root=tmp_path)


def test_a_byte_order_mark_is_named(tmp_path: Path) -> None:
    error = mistake(tmp_path, "\ufeff" + GOOD)
    assert "begins with a byte order mark" in error.cause
    assert error.line == 1


METADATA_MISTAKES = {
    "no block": ("# /// script", "# script", "no metadata block", None),
    "never closed": ('# ///\n"""', '"""', "no metadata block", None),
    "bad TOML": ("# devices = 2", "# devices = = 2", "not TOML", "# devices = = 2"),
    "unknown key": ("# devices = 2", "# device = 2", "unknown key 'device'", "# device = 2"),
    "unknown top key": (
        '# requires-python = ">=3.11,<3.14"',
        '# requires-python = ">=3.11,<3.14"\n# name = "x"',
        "'name'",
        "# name",
    ),
    "no requires-python": ('# requires-python = ">=3.11,<3.14"\n', "", "'requires-python' is missing", None),
    "any later Python": (",<3.14", "", "'requires-python' is '>=3.11', not the project's", "# requires-python"),
    "dependencies as text": ('["tensorflow==2.21.*"]', '"tensorflow"', "not a list of text", "# dependencies"),
    "no dependencies": ('# dependencies = ["tensorflow==2.21.*"]\n', "", "'dependencies' is missing", None),
    "no requirement": ("tensorflow==2.21.*", "tensorflow=2.21", "'tensorflow=2.21' is not a requirement", "# dep"),
    "devices as text": ("# devices = 2", '# devices = "2"', "'devices' in [tool.guide] is '2'", "# devices"),
    "devices below zero": ("# devices = 2", "# devices = -1", "'devices'", "# devices"),
    "devices as bool": ("# devices = 2", "# devices = true", "'devices'", "# devices"),
    "no process": ("# devices = 2", "# processes = 0", "'processes'", "# processes"),
    "no time": ("# devices = 2", "# seconds = 0", "'seconds'", "# seconds"),
    "too much time": ("# devices = 2", "# seconds = 6000", "'seconds'", "# seconds"),
    "alone as number": ("# alone = true", "# alone = 1", "'alone'", "# alone"),
    "tolerance above one": ("# devices = 2", "# tolerance = 2.0", "'tolerance'", "# tolerance"),
    "env with a number": ('"1"', "1", "'env'", "# env"),
    "env with a name that is none": ("TF_USE_LEGACY_KERAS", '"A=B"', "'env'", "# env"),
    "env with a null": ('"1"', '"\\u0000"', "'env'", "# env"),
    "a misspelt table": ("# [tool.guide]", "# [tool.guid]", "unknown table [tool.guid]", "# [tool.guid]"),
    "guide no table": ("# [tool.guide]", "# tool.guide = 1", "", None),
}


@pytest.mark.parametrize("case", METADATA_MISTAKES)
def test_a_mistake_in_the_metadata_names_its_line(case: str, tmp_path: Path) -> None:
    old, new, cause, needle = METADATA_MISTAKES[case]
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    error = mistake(tmp_path, text)
    assert cause in error.cause
    assert error.line > 0
    if needle:
        assert error.line == line_of(text, needle)


SECTION_MISTAKES = {
    "never closed": ("# --8<-- [end:setup]\n", "", "inside section 'setup'", "    # --8<-- [start:loop]"),
    "last never closed": ("    # --8<-- [end:loop]\n", "", "'loop' is never closed", "    # --8<-- [start:loop]"),
    "closed twice": ("# --8<-- [end:setup]", "# --8<-- [end:setup]\n# --8<-- [end:setup]", "is not open", None),
    "closed by another": ("[end:setup]", "[end:loop]", "'[end:loop]' closes a section that is not open", None),
    "nested": ("import math", "# --8<-- [start:in]\nimport math", "inside section 'setup'", "# --8<-- [start:in]"),
    "duplicate": ("[start:loop]", "[start:setup]", "already used", None),
    "empty": ('import math\n\nif math.pi > 3:\n    print("yes")\n', "\n", "no statement", "# --8<-- [start:setup]"),
    "a comment": ('import math\n\nif math.pi > 3:\n    print("yes")\n', "# import\n", "no statement", None),
    "another depth": ("    # --8<-- [end:loop]", "later = 1\n# --8<-- [end:loop]", "is no Python", "    print(turn)"),
    "cut through": (
        "# --8<-- [end:setup]\n",
        "if (\n# --8<-- [end:setup]\n    True\n):\n    pass\n",
        "is no Python",
        None,
    ),
    "upper case": ("[start:loop]", "[start:Loop]", "malformed", None),
    "scissors with blanks": ("# --8<-- [start:loop]", "# --8<--  [start: loop ]", "malformed", None),
    "marker after code": ("import math\n", "import math  # --8<-- [start:x]\n", "malformed", None),
}


@pytest.mark.parametrize("case", SECTION_MISTAKES)
def test_a_mistake_in_a_section_names_its_line(case: str, tmp_path: Path) -> None:
    old, new, cause, needle = SECTION_MISTAKES[case]
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    error = mistake(tmp_path, text)
    assert cause in error.cause
    assert error.line > 0
    if needle:
        assert error.line == line_of(text, needle)


def test_a_section_inside_a_function_is_refused(tmp_path: Path) -> None:
    inside = "def f():\n    # --8<-- [start:f]\n    return 1\n    # --8<-- [end:f]\n\n\nclaims"
    assert "no statement of the top level" in mistake(tmp_path, GOOD.replace("claims", inside)).cause


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("import math", "import math, hooks.errors", "imports 'hooks.errors'"),
        ("import math", "import math\nfrom tests import plugin_runner", "imports 'tests'"),
        ("import math", "import math\nfrom . import other", "imports '.'"),
        ('    print("yes")', "    def f():\n        import snippets.strategies", "imports 'snippets.strategies'"),
        ("print(turn)", "print(turn", "not Python"),
        ("import math", "import math\n\ndef f(a, a): ...", "not Python: duplicate argument 'a'"),
        ("import math", "import math\n\ndef f():\n    nonlocal a", "not Python: no binding for nonlocal 'a'"),
        ("import math", "import math\n\ndef f():\n    a = 1\n    global a", "not Python: name 'a' is assigned to"),
        ("import math", "import math\n\ndef f():\n    from math import *", "not Python: import * only allowed"),
        ('"""Show one thing.\n\nMore words.\n"""\n', "", "no docstring"),
        ('"""Show one thing.\n\nMore words.\n"""\n', '""" """\n', "no docstring"),
        ("claims = {", "claim = {", "never assigns `claims`"),
        ('claims = {"holds": True}', "claims: dict", "never assigns `claims`"),
        ('claims = {"holds": True}', 'def f():\n    claims = {"holds": True}', "never assigns `claims`"),
    ],
)
def test_a_mistake_in_the_code(old: str, new: str, cause: str, tmp_path: Path) -> None:
    assert old in GOOD
    assert cause in mistake(tmp_path, GOOD.replace(old, new, 1)).cause


def test_claims_may_be_assigned_under_an_if(tmp_path: Path) -> None:
    text = GOOD.replace('claims = {"holds": True}', 'if __name__ == "__main__":\n    claims = {"holds": True}')
    assert programs.load(write(tmp_path, text), root=tmp_path).title


def with_file(text: str = GOOD) -> str:
    return text.replace("# alone = true", '# alone = true\n# files = ["server.py"]')


def test_a_file_beside_a_program_is_part_of_its_hash(tmp_path: Path) -> None:
    path = write(tmp_path, with_file())
    beside = tmp_path / "strategies" / "server.py"
    beside.write_text("one")
    before = programs.load(path, root=tmp_path)
    assert before.companions == [beside]
    assert programs.load(path, root=tmp_path).sha256 == before.sha256
    beside.write_text("two")
    assert programs.load(path, root=tmp_path).sha256 != before.sha256


@pytest.mark.parametrize("name", ["server.py", "\\u0073erver.py"])
def test_a_file_that_a_program_names_must_be_text(tmp_path: Path, name: str) -> None:
    """Also where TOML's escapes hide it; the notebook writes such files from its cells."""
    text = with_file().replace("server.py", name)
    error = mistake(tmp_path, text)
    assert error.cause == "[tool.guide] names 'server.py' in files, but there is no such file beside the program"
    assert error.line == line_of(text, "# files")
    (tmp_path / "strategies" / "server.py").write_bytes(b"\xff")
    error = mistake(tmp_path, text)
    assert error.cause == "[tool.guide] names 'server.py' in files, but this is no text in UTF-8"
    assert error.line == line_of(text, "# files")


@pytest.mark.parametrize("name", [".env", "data#1.txt", "a b.txt", "../server.py", "a\\nimport os", ""])
def test_a_file_that_a_program_names_has_a_plain_name(tmp_path: Path, name: str) -> None:
    """It stands in an address, in a shell and in the first line of a notebook's cell."""
    error = mistake(tmp_path, with_file().replace("server.py", name))
    assert error.cause.startswith("'files' in [tool.guide] is ")
    assert "a list of names of files" in error.cure


@pytest.mark.parametrize("name", ["page.html", "data.XML"])
def test_a_file_beside_a_program_is_no_page(tmp_path: Path, name: str) -> None:
    """It is published beside the program, with no security policy."""
    text = with_file().replace("server.py", name)
    write(tmp_path, text)
    (tmp_path / "strategies" / name).write_text("<script>alert(1)</script>")
    error = mistake(tmp_path, text)
    assert error.cause.startswith(f"[tool.guide] names '{name}' in files, but a file of this kind is published")
    assert error.line == line_of(text, "# files")


def test_a_drawing_beside_a_program_runs_nothing(tmp_path: Path) -> None:
    text = with_file().replace("server.py", "dot.svg")
    path = write(tmp_path, text)
    drawing = tmp_path / "strategies" / "dot.svg"
    drawing.write_text("<svg>\n<g/></svg>")
    assert programs.load(path, root=tmp_path).companions == [drawing]
    drawing.write_text("<svg>\n<script/></svg>")
    with pytest.raises(GuideError, match=r"dot\.svg:2: a drawing is published .* holds the element `script`"):
        programs.load(path, root=tmp_path)


def test_the_programs_that_need_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, with_file())
    (tmp_path / "strategies" / "server.py").write_text(GOOD)
    assert [program.path for program in programs.needing("strategies/server.py", root=tmp_path)] == [path]
    assert programs.needing("pipelines/server.py", root=tmp_path) == []


@pytest.mark.parametrize("line", ["import server", "from server import start", "import server.part as part"])
def test_a_file_that_a_program_imports_must_be_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "server.py").write_text(GOOD)
    text = GOOD.replace("import math\n", f"import math\n{line}\n")
    error = mistake(tmp_path, text)
    assert "imports 'server.py', which lies beside it" in error.cause
    assert error.line == line_of(text, line)
    assert programs.load(write(tmp_path, with_file(text)), root=tmp_path).options.files == ["server.py"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    error = mistake(tmp_path, with_file())
    assert "'server.py'" in error.cause
    assert error.line == line_of(with_file(), "server.py")


@pytest.mark.parametrize("value", ['"server.py"', '["../server.py"]', '[""]', "[1]"])
def test_a_file_is_named_by_its_name_alone(tmp_path: Path, value: str) -> None:
    error = mistake(tmp_path, with_file().replace('["server.py"]', value))
    assert "a list of names" in error.cure


def test_packages_of_other_tools_are_not_programs(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD, "strategies/node_modules/gyp/one.py")
    assert programs.paths(root=tmp_path) == ["strategies/one.py"]
    assert programs.files(root=tmp_path) == ["strategies/one.py"]
