"""The features that mkdocs.yml asks for are features of the theme, which passes over names that it does not know."""

from __future__ import annotations

from pathlib import Path

from mkdocs.utils import get_theme_dir, yaml_load

from hooks.errors import ROOT


def test_the_theme_has_each_feature() -> None:
    theme = Path(get_theme_dir("material"))
    asking = [*theme.rglob("*.html"), *theme.glob("assets/javascripts/bundle.*.js")]
    texts = "".join(file.read_text("utf8") for file in asking)
    features = yaml_load((ROOT / "mkdocs.yml").read_text("utf8"))["theme"]["features"]
    assert [feature for feature in features if f'"{feature}"' not in texts] == []
    assert '"navigation.tab"' not in texts
