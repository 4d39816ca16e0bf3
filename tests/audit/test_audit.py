"""The audit's own checks: licences and declared dependencies. What asks the network is left to `make audit`."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from hooks.errors import ROOT
from tests.audit import __main__ as audit
from tests.audit import dependencies, licences, programs

POLICY = licences.Policy(
    frozenset({"MIT", "Apache-2.0", "BSD-3-Clause"}),
    {"MIT License": "MIT", "BSD License": "BSD-3-Clause"},
    {"silent": {"licence": "MIT", "where": "https://example.org"}},
    {"tool": {"licence": "GPL-2.0-only", "why": "a command"}},
)


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("MIT OR GPL-3.0-only AND Apache-2.0", True),
        ("(MIT OR GPL-3.0-only) AND GPL-3.0-only", False),
        ("GPL-3.0-only AND (MIT OR Apache-2.0)", False),
        ("Apache-2.0 WITH LLVM-exception", True),
    ],
)
def test_an_expression_is_met_with_allowed_licences(expression: str, accepted: bool) -> None:
    assert licences.accepts(expression, POLICY.allowed) is accepted


@pytest.mark.parametrize("text", ["", "MIT AND", "(MIT", "MIT MIT", "MIT / BSD", "MIT)"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(text)}$"):
        licences.accepts(text, POLICY.allowed)


@pytest.mark.parametrize(
    ("name", "stated", "said"),
    [
        ("good", "MIT License & BSD License", ""),
        ("silent", "", ""),
        ("silent", "GPL-3.0-only", "silent is under GPL-3.0-only: not allowed"),
        ("tool", "GPL-2.0-only", ""),
        ("tool", "GPL-3.0-only", "tool is under GPL-3.0-only: not allowed"),
        ("other", "GPL-2.0-only", "other is under GPL-2.0-only: not allowed"),
        ("quiet", "", "quiet states no licence"),
        ("absent", None, "absent is not installed"),
        ("odd", "Do what you want!", "odd states the licence 'Do what you want!', which is unknown"),
    ],
)
def test_a_licence_that_is_unknown_or_not_allowed_is_named(name: str, stated: str | None, said: str) -> None:
    found = licences.problems({name: stated} if stated is not None else {}, [name], POLICY, source="uv.lock")
    assert [line.partition(": ")[2].startswith(said) for line in found] == ([True] if said else [])


def test_npm_packages_are_read_from_their_lock(tmp_path: Path) -> None:
    packages = {"": {"license": "X"}, "node_modules/a": {"license": "MIT"}, "node_modules/a/node_modules/@b/c": {}}
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": packages}))
    assert licences.npm(tmp_path / "package-lock.json") == {"a": "MIT", "@b/c": ""}


def test_every_installed_package_of_the_lock_has_an_allowed_licence() -> None:
    stated = licences.installed()
    names = [name for name in licences.locked(ROOT / "uv.lock") if name in stated]
    assert len(names) > 100
    assert licences.problems(stated, names, licences.Policy.load(audit.POLICY), source="uv.lock") == []


def test_every_folder_with_npm_packages_is_looked_at() -> None:
    locks = [lock for part in ("snippets", "tests") for lock in (ROOT / part).glob("*/package-lock.json")]
    assert {lock.parent for lock in locks} == {ROOT / folder for folder in audit.NPM}


@pytest.mark.parametrize("folder", audit.NPM)
def test_every_npm_package_has_an_allowed_licence(folder: str) -> None:
    stated = licences.npm(ROOT / folder / "package-lock.json")
    assert stated
    assert licences.problems(stated, stated, licences.Policy.load(audit.POLICY), source=folder) == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose site needs Jinja and whose tests need pytest."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_url: !ENV [X, y]\nhooks: [hooks/site.py]\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "hooks" / "site.py").write_text("import jinja2\nfrom hooks import other\n")
    (tmp_path / "hooks" / "other.py").write_text("def f():\n    import pytest\n")
    (tmp_path / "tests" / "test_one.py").write_text(
        "import os\nimport pytest\nimport helper\nfrom google.protobuf import x"
    )
    (tmp_path / "tests" / "helper.py").write_text("")
    declare(tmp_path, ["jinja2"], ["pytest", "protobuf"])
    return tmp_path


def declare(project: Path, site: list[str], run: list[str]) -> None:
    text = f"[project]\ndependencies = {json.dumps(site)}\n[dependency-groups]\nrun = {json.dumps(run)}\n"
    (project / "pyproject.toml").write_text(text)


def test_what_is_declared_and_imported_is_well(project: Path) -> None:
    assert dependencies.problems(project, {}) == []


def test_a_missing_dependency_is_named(project: Path) -> None:
    declare(project, ["jinja2"], ["protobuf"])
    assert dependencies.problems(project, {}) == [
        "hooks/other.py:2: imports pytest (pytest), which no group declares",
        "tests/test_one.py:2: imports pytest (pytest), which no group declares",
    ]


def test_what_the_site_imports_at_once_must_be_the_sites(project: Path) -> None:
    (project / "hooks" / "other.py").write_text("import pytest\n")
    [found] = dependencies.problems(project, {})
    assert found == "hooks/other.py:1: imports pytest (pytest), which `dependencies` lacks"


def test_what_the_site_imports_late_must_be_the_sites_too(project: Path) -> None:
    (project / "hooks" / "other.py").write_text("def draw():\n    import hooks.late\n")
    (project / "hooks" / "late.py").write_text("import pytest\n")
    [found] = dependencies.problems(project, {})
    assert found == "hooks/late.py:1: imports pytest (pytest), which `dependencies` lacks"


def test_every_module_that_mkdocs_yml_names_is_the_sites() -> None:
    names = {file.relative_to(ROOT).as_posix() for file in dependencies.site_files(ROOT)}
    config = (ROOT / "mkdocs.yml").read_text("utf8")
    hooks = re.findall(r"hooks/\w+\.py", re.findall(r"(?m)^hooks: .*$", config)[0])
    assert len(hooks) > 5
    assert {*hooks, "hooks/extension.py"} <= names


def test_an_unused_dependency_is_named_unless_a_reason_is_given(project: Path) -> None:
    declare(project, ["jinja2", "mkdocs-material"], ["pytest", "protobuf"])
    assert dependencies.problems(project, {}) == ["pyproject.toml: mkdocs-material is declared, but nothing imports it"]
    assert dependencies.problems(project, {"mkdocs-material": "the theme"}) == []
    [found] = dependencies.problems(project, {"mkdocs-material": "the theme", "gone": "x"})
    assert "gone stands under `not-imported`" in found


def test_the_project_declares_what_it_imports_and_nothing_else() -> None:
    reasons = tomllib.loads(audit.POLICY.read_text("utf8"))["not-imported"]
    assert dependencies.problems(ROOT, reasons) == []


PROGRAM = '''# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "pytest"]
# ///
"""Show one thing."""

import json

import numpy
import pytest
import tensorflow

claims = {"holds": True}
'''


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("import numpy", "import numpy", 0, ""),
        ("import pytest", "import pytest, keras", 10, "imports keras, which `dependencies` does not name"),
        ("import pytest", "import pytest\n\ndef f():\n    from yaml import load\n", 13, "name pyyaml there"),
        ("import pytest", "import pytest, no_such_module", 10, "imports no_such_module"),
        ("import pytest\n", "", 3, "`dependencies` names pytest, which the program does not import"),
        ('"pytest"', '"pytest", "h5py"', 0, ""),
        ('"pytest"', '"pytest",\n# "tensorflowjs"', 4, "`dependencies` names tensorflowjs"),
        ('"pytest"', '"pytest<2"', 3, "it asks for pytest<2, uv.lock holds "),
        ('"pytest"', '"pytest", "no-such-package"', 3, "it asks for no-such-package, uv.lock does not hold it"),
    ],
)
def test_a_program_names_what_it_imports(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    """NumPy comes with TensorFlow; Keras does too, but a record states its version."""
    (tmp_path / "a").mkdir()
    assert old in PROGRAM
    (tmp_path / "a" / "b.py").write_text(PROGRAM.replace(old, new))
    found = [one for one in programs.problems({"h5py": "why"}, root=tmp_path) if "needs no reason" not in one]
    if not said:
        assert found == []
        return
    assert said in "\n".join(found)
    assert all(f"a/b.py:{line}: " in one and "Fix: " in one for one in found)


def test_a_program_names_what_a_file_beside_it_imports(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text(PROGRAM)
    other = PROGRAM.replace(', "pytest"', "").replace("import pytest", "import b")
    (tmp_path / "a" / "c.py").write_text(other.replace('# ///\n"', '# tool.guide.files = ["b.py"]\n# ///\n"'))
    [found] = programs.problems({}, root=tmp_path)
    assert "a/b.py:10: it imports pytest, which `dependencies` of a/c.py" in found


def test_a_reason_that_no_program_needs_is_named(tmp_path: Path) -> None:
    [found] = programs.problems({"h5py": "why"}, root=tmp_path)
    assert found.startswith("tests/audit/policy.toml:")
    assert "h5py needs no reason" in found


def test_every_program_names_what_it_imports() -> None:
    assert programs.problems(tomllib.loads(audit.POLICY.read_text("utf8"))[programs.TABLE]) == []
