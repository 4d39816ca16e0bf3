"""What is taken out of a page: only what nobody sees."""

from __future__ import annotations

from bs4 import BeautifulSoup

from hooks.lean import boxed, lean, tight

CODE = (
    '<pre><span></span><code><span class="n">a</span><span class="w"> </span><span class="o">=</span>'
    '<span class="s2">&quot;b&quot;</span><span class="p">)</span>\n</code></pre>'
)


def test_plain_words_of_code_lose_their_elements_and_the_text_stays() -> None:
    assert lean(CODE) == '<pre><code>a =<span class="s2">&quot;b&quot;</span>)\n</code></pre>'
    assert BeautifulSoup(lean(CODE), "html.parser").text == BeautifulSoup(CODE, "html.parser").text


def test_lines_are_joined_outside_of_code_and_scripts() -> None:
    html = "<p>\n   one\n\n\n  two</p>\n<pre>\n  a\n\n  b</pre>\n\n<script>\n\n x</script>  \n  <p>three four</p>"
    assert tight(html) == ("<p>\none\ntwo</p>\n<pre>\n  a\n\n  b</pre>\n<script>\n\n x</script>\n<p>three four</p>")


def test_what_scripts_wrap_or_add_to_has_a_box_of_its_own() -> None:
    assert boxed("<p>a</p>") == "<p>a</p>"
    assert boxed('<table>\na</table>b<table class="c">d</table>') == (
        '<div class="plain-table"><table>\na</table></div>b<table class="c">d</table>'
    )
    assert boxed("<fieldset>a</fieldset><fieldset>b</fieldset><p>c</p>") == (
        '<fieldset>a</fieldset><fieldset>b</fieldset><div class="quiz-end"></div><p>c</p>'
    )
