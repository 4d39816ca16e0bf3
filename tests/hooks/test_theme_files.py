"""Files of the theme that no page can use are not published; its scripts name none of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mkdocs.structure.files import File, Files

from hooks import theme_files

CODE = 'const a = "//# sourceMappingURL=b.map";\n'
THEME = {
    "assets/javascripts/bundle.a5.min.js": f"{CODE}//# sourceMappingURL=bundle.a5.min.js.map\n\n",
    "assets/javascripts/bundle.a5.min.js.map": "{}",
    "assets/javascripts/plain.js": CODE,
    "assets/javascripts/workers/search.a7.min.js": f"{CODE}//# sourceMappingURL=search.a7.min.js.map",
    "assets/javascripts/workers/search.a7.min.js.map": "{}",
    "assets/javascripts/lunr/wordcut.js": "x",
    "assets/javascripts/lunr/min/lunr.de.min.js": "x",
    "assets/stylesheets/main.57.min.css": "a{}",
    "assets/stylesheets/main.57.min.css.map": "{}",
    "programs/place.map": "of a program",
}
SCRIPTS = [name for name in THEME if name.endswith(".min.js") and "lunr" not in name]


def test_only_what_pages_can_use_is_published(tmp_path: Path) -> None:
    for name, text in THEME.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    config: Any = SimpleNamespace(site_dir=str(tmp_path / "site"), use_directory_urls=True)
    config.plugins = SimpleNamespace(_current_plugin="hooks/theme_files.py")
    given = Files([File(name, str(tmp_path), config.site_dir, True) for name in THEME])
    files = theme_files.on_files(given, config)
    kept = {file.src_uri: file.content_string for file in files}
    assert sorted(kept) == sorted(
        [*SCRIPTS, "assets/javascripts/plain.js", "assets/stylesheets/main.57.min.css", "programs/place.map"]
    )
    for file in files:
        changed = file.src_uri in SCRIPTS
        assert file.content_string == (CODE if changed else THEME[file.src_uri])
        assert Path(file.dest_uri) == Path(file.src_uri)
