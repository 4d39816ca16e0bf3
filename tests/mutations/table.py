"""The mutations: each changes one file of the small project, and says what must be noticed, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tests.mutations.small import (
    CONFIG,
    CURRICULUM,
    GLOSSARY,
    HOME,
    HOW,
    LAB,
    LAB_RECORD,
    LOCKED,
    OUTCOMES,
    PAGE,
    PROGRAM,
    README,
    RECORD,
)

Stage = Literal["build", "tests"]


@dataclass(frozen=True)
class Mutation:
    """One change.

    Attributes:
        name: what is wrong, in words.
        file: the file that changes.
        old: a text of it; `None` to remove the file, or to write it anew.
        new: what stands in its place; `None` with `old=None` removes the file.
        says: what the message must hold: the cause, and where it can be known, file and line.
        stage: what notices it: the build, or the tests where only running tells.
    """

    name: str
    file: str
    old: str | None
    new: str | None
    says: str
    stage: Stage = "build"


NESTED = "    a = 3\n    print(a)\n"
CODE = '```python {#lst-total}\n--8<-- "demo/plain.py:total"\n```'
TEXT = "```text\nJust words.\n```"

MUTATIONS = [
    # Blocks that would be left out or unchecked.
    Mutation("a fence in an HTML comment", PAGE, TEXT, f"<!--\n{TEXT}\n-->", "plain.md:65: this fence does not appear"),
    Mutation("a fence without a language", PAGE, "```text", "```", "plain.md:64: this fence names no language"),
    Mutation(
        "an unknown language", PAGE, "```text", "```klingon", "plain.md:64: nothing checks the language 'klingon'"
    ),
    Mutation(
        "py instead of python",
        PAGE,
        "    ```python\n    a",
        "    ```py\n    a",
        "plain.md:24: nothing checks the language 'py'",
    ),
    Mutation(
        "Python with a capital",
        PAGE,
        "    ```python\n    a",
        "    ```Python\n    a",
        "plain.md:24: nothing checks the language 'Python'",
    ),
    Mutation(
        "a console session labelled pycon",
        PAGE,
        "```text\nJust words.",
        "```pycon\n>>> 1",
        "plain.md:64: nothing checks the language 'pycon'",
    ),
    Mutation(
        "a diagram language",
        PAGE,
        "```text\nJust words.",
        "```mermaid\ngraph LR",
        "plain.md:64: nothing checks the language 'mermaid'",
    ),
    Mutation("a word after the language", PAGE, "```js\n", "```js notest\n", "plain.md:60: the header of this fence"),
    Mutation(
        "a continuation marker",
        PAGE,
        "    ```python\n    print",
        "    ```python continuation\n    print",
        "plain.md:31: the header",
    ),
    Mutation(
        "a broken brace header",
        PAGE,
        "```python {#lst-total}",
        "```python {#lst-total",
        "plain.md:10: the header of this fence",
    ),
    Mutation("an empty brace header", PAGE, "```js\n", "```{}\n", "plain.md:60: this fence names no language"),
    Mutation("a bare word in braces", PAGE, "```js\n", "```{.js notest}\n", "plain.md:60: the header of this fence"),
    Mutation("an unclosed fence", PAGE, "Just words.\n```", "Just words.", "plain.md:64: this fence is never closed"),
    Mutation(
        "an unclosed fence in a note",
        PAGE,
        f"{NESTED}    ```",
        NESTED.rstrip(),
        "plain.md:24: this fence is never closed",
    ),
    Mutation("raw pre", PAGE, TEXT, "<pre><code>boom()</code></pre>", "code that is not in a fence: 'boom()'"),
    Mutation("an indented block of code", PAGE, TEXT, "Words.\n\n    boom()", "code that is not in a fence: 'boom()'"),
    Mutation("Python labelled text", PAGE, "Just words.", "import os", "plain.md:64: this text is Python code"),
    Mutation(
        "a fence after a list marker",
        PAGE,
        "1.  A list:\n\n    ```yaml\n    a: 1",
        "1.  ```yaml\n    a: 1",
        "plain.md:43: this fence names no language",
    ),
    Mutation(
        "not run, without a reason", PAGE, ' data-why="needs a TPU"', "", 'plain.md:68: data-run="no" without a reason'
    ),
    Mutation("a reason without need", PAGE, 'data-run="no" ', "", "plain.md:68: data-why without data-run"),
    Mutation(
        "an unknown data-run", PAGE, 'data-run="no"', 'data-run="fresh"', 'plain.md:68: data-run="fresh" means nothing'
    ),
    Mutation(
        "a quotation mark in a reason",
        PAGE,
        'data-why="needs a TPU"',
        """data-why='needs a "TPU"'""",
        "plain.md:68: the header of this fence has",
    ),
    Mutation(
        "raw HTML with a broken address",
        PAGE,
        TEXT,
        '<a href="https://[your-host]/">There</a>',
        "plain.md:64: a link that leads nowhere: 'https://[your-host]/'",
    ),
    Mutation("an attribute that nothing reads", PAGE, "```js\n", "```js {data-rum=no}\n", "plain.md:60: the header"),
    Mutation(
        "a parsed block that is not to run",
        PAGE,
        "```text",
        '```json {data-run="no" data-why="no"}',
        "a json block is never run",
    ),
    # Snippets.
    Mutation(
        "a wrong snippet path",
        PAGE,
        'demo/plain.py:total"\n',
        'demo/plane.py:total"\n',
        "plain.md:11: there is no file snippets/demo/plane.py",
    ),
    Mutation(
        "a wrong section",
        PAGE,
        'demo/plain.py:total"\n',
        'demo/plain.py:totel"\n',
        "plain.md:11: snippets/demo/plain.py has no section 'totel'",
    ),
    Mutation(
        "a renamed section",
        PROGRAM,
        "[start:total]",
        "[start:all]",
        "plain.py:14: '[end:total]' closes a section that is not open",
    ),
    Mutation(
        "a lost end marker",
        PROGRAM,
        "# --8<-- [end:total]\n",
        "",
        "plain.py:15: section 'more' starts inside section 'total'",
    ),
    Mutation(
        "a program with an argument twice",
        PROGRAM,
        "claims =",
        "def f(a, a): ...\n\n\nclaims =",
        "plain.py:23: the program is not Python: duplicate argument 'a' in function definition",
    ),
    Mutation("a section that never ends", PROGRAM, "# --8<-- [end:more]\n", "", "section 'more' is never closed"),
    Mutation(
        "a snippet outside a fence",
        PAGE,
        "Just words.\n```",
        'Just words.\n```\n\n--8<-- "demo/plain.py:more"',
        "a snippet that is not the one line",
    ),
    Mutation(
        "a snippet beside other lines",
        PAGE,
        'plain.py:total"\n',
        'plain.py:total"\nprint(1)\n',
        "plain.md:11: a snippet that is not",
    ),
    Mutation(
        "a snippet outside its folder",
        PAGE,
        'demo/plain.py:total"\n```',
        '../mkdocs.yml"\n```',
        "plain.md:11: snippets/../mkdocs.yml is not a path that pages can name",
    ),
    # Markup that came out as text.
    Mutation(
        "an unknown block",
        PAGE,
        "/// details | More",
        "/// unheard | More",
        "plain.md:53: `/// unheard | More` starts no block that is known",
    ),
    Mutation(
        "a block with two titles",
        PAGE,
        "/// details | More\n",
        "/// details | More\n    title: Less\n",
        "plain.md:53: `/// details | More` starts no block that can be read",
    ),
    Mutation(
        "a mark that nothing fills in", HOME, "guide:totals", "guide:total", "docs/index.md:8: a mark that nothing"
    ),
    Mutation(
        "a link to no reference", PAGE, "Back [home](../index.md)", "Back [home][home]", "plain.md:6: a link to a"
    ),
    Mutation(
        "an unclosed block",
        PAGE,
        "echo hello\n```\n///",
        "echo hello\n```",
        "plain.md:53: `/// details | More` is never closed",
    ),
    Mutation(
        "a value without its record's name",
        PAGE,
        "plain.py:answer",
        "plain.py:no_such",
        "plain.md:6: `demo/plain.py` has no `no_such`",
    ),
    Mutation(
        "an admonition whose title does not end",
        PAGE,
        '!!! note "Inside a note"',
        '!!! note "Inside a note',
        "plain.md:22: an admonition or tab that was not read",
    ),
    # Programs and records.
    Mutation(
        "a program without metadata", PROGRAM, "# /// script\n", "", "plain.py:1: the program has no metadata block"
    ),
    Mutation(
        "a misspelt table of a program",
        PROGRAM,
        "[tool.guide]",
        "[tool.guid]",
        "plain.py:5: the metadata block has an unknown table [tool.guid]",
    ),
    Mutation(
        "a file beside a program that is not there",
        PROGRAM,
        "# devices = 0\n",
        '# devices = 0\n# files = ["server.py"]\n',
        "there is no such file beside the program",
    ),
    Mutation(
        "a program without claims",
        PROGRAM,
        'claims = {"is',
        'claim = {"is',
        "plain.py:27: the program never assigns `claims`",
    ),
    Mutation(
        "a program that imports the project",
        PROGRAM,
        "total = sum",
        "import hooks\ntotal = sum",
        "plain.py:12: the program imports 'hooks' of this project",
    ),
    Mutation(
        "a program that imports what lies beside it and does not name it",
        PROGRAM,
        "total = sum",
        "import plain\ntotal = sum",
        "the program imports 'plain.py', which lies beside it",
    ),
    Mutation("broken outcomes", OUTCOMES, "{}", "{]", "locks/other/outcomes.json:1: the outcomes are broken"),
    Mutation("a lock that pins nothing", LOCKED, "keras==", "keras>=", "locks/other/requirements.txt:1: 'keras>=1.0'"),
    Mutation("a stale record", PROGRAM, "sum([1, 2, 3])", "sum([3, 2, 1])", "changed after it was recorded"),
    Mutation("a missing record", RECORD, None, None, "plain.md:14: demo/plain.py has no record for cpu"),
    Mutation(
        "a record that is no record",
        RECORD,
        '"claims"',
        '"clams"',
        "plain.cpu.json: the record is broken: 'claims' is missing",
    ),
    Mutation("a figure with a key that nothing reads", RECORD, '"xlabel"', '"xlable"', "nothing reads 'xlable'"),
    Mutation("a record of other versions", RECORD, '"keras": "', '"keras": "0.', "was recorded with keras"),
    Mutation(
        "a wrong output in the record",
        RECORD,
        "total: 6",
        "total: 7",
        "it printed 'total: 6', the record says 'total: 7'",
        "tests",
    ),
    Mutation(
        "a wrong number in the record",
        RECORD,
        '"answer": 6',
        '"answer": 8',
        "measure 'answer' is 6, the record says 8",
        "tests",
    ),
    Mutation(
        "a wrong claim in the record",
        RECORD,
        '"is_five": false',
        '"is_five": true',
        "claim 'is_five' is False, the record says True",
        "tests",
    ),
    # Questions.
    Mutation(
        "a fieldset in a reason that never ends",
        PAGE,
        "Three was left out.",
        "Three was <fieldset> left out.",
        "plain.md:86: question `plain-total` stands in another one, or its `fieldset` does not end",
    ),
    Mutation(
        "a flipped key", PAGE, "- [x] Six", "- [ ] Six", "plain.md:86: question `plain-total` has no right option"
    ),
    Mutation(
        "both options right",
        PAGE,
        "- [ ] Five",
        "- [x] Five",
        "plain.md:86: question `plain-total` has no wrong option",
    ),
    Mutation(
        "a renamed claim",
        PAGE,
        "{claim: demo/plain.py:is_six}",
        "{claim: demo/plain.py:is_sixx}",
        "plain.md:90: question `plain-total`: `demo/plain.py` has no `is_sixx`",
    ),
    Mutation(
        "a removed reason", PAGE, "    Three was left out.\n", "", "plain.md:94: the option `Five.` has no reason"
    ),
    Mutation("an option without its key", PAGE, " {claim: demo/plain.py:is_six}", "", "does not say what decides it"),
    Mutation(
        "a drawing that could not be loaded from a file",
        "docs/assets/widgets/bubble.js",
        "export const widget",
        "export default",
        "docs/assets/widgets/bubble.js:49: `export default",
    ),
    Mutation(
        "a module that exports two names at once",
        "docs/assets/widgets/units.js",
        "export const count =",
        "export const one = 1, count =",
        "docs/assets/widgets/units.js:9: `export const one = 1, count =",
    ),
    Mutation(
        "a question without id",
        PAGE,
        "    id: plain-total\n",
        "",
        "plain.md:86: the question 'What is the total?' has no id",
    ),
    Mutation(
        "a question that covers nothing",
        PAGE,
        "    covers: [P1]\n",
        "",
        "plain.md:86: question `plain-total` covers nothing",
    ),
    Mutation(
        "a question never closed",
        PAGE,
        "    Three was left out.\n///",
        "    Three was left out.",
        "plain.md:86: `/// quiz | What is the total?` is never closed",
    ),
    Mutation(
        "a question id on two pages",
        HOME,
        "<!-- guide:totals -->",
        """\
/// quiz | What is the total?
    id: plain-total
    covers: [P1]

- [x] Six. {claim: demo/plain.py:is_six}

    One, two and three.

- [ ] Five. {claim: not demo/plain.py:is_six}

    Three was left out.
///""",
        "the question id 'plain-total' is also used at docs/",
    ),
    # What every page has.
    Mutation("a page in Latin-1", PAGE, "Just words", "Just w\udcf6rds", "plain.md:65: a character here is not UTF-8"),
    Mutation(
        "a page in Latin-1, in the tests",
        PAGE,
        "Just words",
        "Just w\udcf6rds",
        "plain.md:65: a character here is not UTF-8",
        "tests",
    ),
    Mutation("a README in Latin-1", README, "A block", "A bl\udcf6ck", "README.md:3: a character here is not UTF-8"),
    Mutation(
        "a key of search that nothing reads",
        PAGE,
        "description: One of everything.\n",
        "description: One of everything.\nsearch:\n  alias: [plain]\n",
        "plain.md:4: the front matter of this guide has no `search: alias`",
    ),
    Mutation(
        "search that is a list",
        PAGE,
        "description: One of everything.\n",
        "description: One of everything.\nsearch: [aliases]\n",
        "plain.md:3: `search: ['aliases']` will not do",
    ),
    Mutation(
        "a day that no month has", PAGE, "One of everything.", "2026-13-45", "plain.md:1: the front matter is no YAML"
    ),
    Mutation(
        "a page without a description", PAGE, "description: One of everything.\n", "", "plain.md:1: the page has no"
    ),
    Mutation("a page with two titles", PAGE, TEXT, f"# Another\n\n{TEXT}", "plain.md:64: the page has 2 titles"),
    # Search.
    Mutation(
        "aliases for search that are no list",
        PAGE,
        "description: One of everything.\n",
        "description: One of everything.\nsearch:\n  aliases: plain\n",
        "plain.md:4: the aliases for search are no list of names",
    ),
    # Surveys and redirects.
    Mutation(
        "a survey without its file",
        PAGE,
        "It says",
        "/// survey | found.json\nWhat was found.\n///\n\nIt says",
        "plain.md:6: there is no file docs/demo/found.json",
    ),
    Mutation(
        "a survey that is not beside the page",
        PAGE,
        "It says",
        "/// survey | ../found.json\nWhat was found.\n///\n\nIt says",
        "plain.md:6: the survey `../found.json` does not lie beside the page",
    ),
    Mutation(
        "a redirect to no page",
        CONFIG,
        "  redirects: {}\n",
        "  redirects: {old/: new/}\n",
        "the redirect of old/ leads to new/, which is no page",
    ),
    Mutation(
        "redirects that are a list",
        CONFIG,
        "  redirects: {}\n",
        "  redirects: [old/, how/]\n",
        "mkdocs.yml:47: `extra.redirects` is no table",
    ),
    Mutation(
        "a redirect to no anchor",
        CONFIG,
        "  redirects: {}\n",
        "  redirects: {old/: how/#no-such}\n",
        "mkdocs.yml:47: a dead anchor",
    ),
    Mutation("a misspelt setting", CONFIG, "  redirects: {}\n", "  redirect: {}\n", "mkdocs.yml:47: nothing reads"),
    Mutation("sources without a title", CONFIG, "title: Data sets, ", "", "`extra.sources` cannot be used"),
    Mutation(
        "sources of which none takes the rest",
        CONFIG,
        "{title: Guides and manuals}",
        '{title: Guides and manuals, match: ["https://"]}',
        "`extra.sources` cannot be used: the last kind has `match`",
    ),
    # The glossary and the curriculum.
    Mutation("a term twice", GLOSSARY, "### Addend", "### Sums", "docs/glossary.md:10: the term 'Sums' stands twice"),
    Mutation(
        "a term without a source", GLOSSARY, " [OEIS](https://oeis.org/wiki/Addend)", "", "glossary.md:10: the term"
    ),
    Mutation(
        "a term that another heading says too",
        GLOSSARY,
        "# Glossary\n",
        "# Glossary\n\n## Addend\n",
        "docs/glossary.md:12: the heading of the term 'Addend' does not have the anchor `addend`",
    ),
    Mutation(
        "a term without a definition",
        GLOSSARY,
        "What an addition gives. [OEIS](https://oeis.org/wiki/Sum)\n",
        "",
        "docs/glossary.md:6: the term 'Sum' has no definition",
    ),
    Mutation(
        "a question that covers no row",
        PAGE,
        "covers: [P1]",
        "covers: [P2]",
        "plain.md:88: option `covers`: docs/curriculum.toml",
    ),
    Mutation(
        "a row that says nothing",
        CURRICULUM,
        '"Three numbers have a sum."',
        "3",
        "docs/curriculum.toml:2: `P1` is no row",
    ),
    # Links and resources.
    Mutation(
        "a list of errors for no section",
        HOW,
        "guide:errors demo",
        "guide:errors demos",
        "docs/how.md:8: no page of a section 'demos' shows an error",
    ),
    Mutation(
        "a title in raw HTML above what the build lists",
        HOW,
        "# How this is verified",
        "<h1>How this is verified</h1>",
        "docs/how.md:4: the page does not begin with a title in Markdown",
    ),
    Mutation(
        "a broken address at the foot of every page",
        CONFIG,
        "copyright: Text",
        "copyright: <a href='https://[host'>There</a>, text",
        "a link that leads nowhere: https://[host",
    ),
    Mutation("a dead link", HOME, "(demo/plain.md)", "(demo/plane.md)", "index.md:6: a dead link"),
    Mutation("a dead anchor", HOME, "#nested", "#nestled", "index.md:6: a dead anchor"),
    Mutation("a dead anchor to a block", PAGE, "(#lst-total)", "(#lst-totel)", "a dead anchor: #lst-totel"),
    Mutation(
        "a link to the site's root",
        PAGE,
        "(../index.md)",
        "(/index.html)",
        "plain.md:6: a link that leaves the site: /index.html",
    ),
    Mutation("an image without alt text", PAGE, "![A dot]", "![]", "an image without a text"),
    Mutation(
        "a missing image",
        PAGE,
        "dot.png",
        "dit.png",
        "plain.md:8: the page fetches what is not there: ../assets/dit.png",
    ),
    Mutation(
        "a missing image that another page shows too",
        PAGE,
        "Divide by something else.",
        "![A dot](../assets/dit.png)",
        "docs/demo/plain.md:83: the page fetches what is not there: ../assets/dit.png",
    ),
    Mutation("a figure with an empty alt text", PAGE, "alt: A line that rises.", "alt:", "plain.md:77: option `alt`"),
    Mutation(
        "an alt text over two lines",
        PAGE,
        "alt: A line that rises.",
        "alt: A line\n        that rises.",
        "plain.md:77: `alt` goes over two lines",
    ),
    Mutation(
        "an option twice",
        PAGE,
        "    alt: A line that rises.\n",
        "    alt: A line that rises.\n    alt: A line that falls.\n",
        "plain.md:78: `/// figure` has the option `alt` twice",
    ),
    Mutation(
        "a figure without alt text",
        PAGE,
        "    alt: A line that rises.\n",
        "",
        "plain.md:76: the figure `demo/plain.py:line` has no alternative text",
    ),
    Mutation("a duplicate id", PAGE, "## Nested", "## Nested {#lst-total}", "the id 'lst-total' stands 2 times"),
    Mutation(
        "a script of a third party",
        PAGE,
        TEXT,
        '<script src="https://cdn.example.com/x.js"></script>',
        "plain.md:64: the page fetches from a third party",
    ),
    Mutation(
        "an image of a third party",
        PAGE,
        "../assets/dot.png",
        "https://img.example.com/dot.png",
        "plain.md:8: the page fetches from a third party",
    ),
    Mutation(
        "a style sheet of a third party",
        "hooks/theme/main.html",
        '<link rel="apple-touch-icon"',
        '<link rel="stylesheet" href="https://cdn.example.com/x.css">\n<link rel="apple-touch-icon"',
        "the page fetches from a third party: https://cdn.example.com/x.css",
    ),
    Mutation(
        "a font of a third party",
        "docs/assets/site.css",
        ":root",
        "@import 'https://fonts.example.com/x.css';\n:root",
        "the page fetches from a third party: https://fonts.example.com/x.css",
    ),
    Mutation(
        "an iframe",
        PAGE,
        TEXT,
        '<iframe src="//video.example.com/x" title="x"></iframe>',
        "plain.md:64: the page fetches from a third party: //video.example.com/x",
    ),
    Mutation(
        "a link to the card of a program that no page shows",
        PAGE,
        "/// program | demo/plain.py\n///\n\n",
        "",
        "no page shows that program as a card",
    ),
    Mutation(
        "front matter that is no YAML",
        PAGE,
        "description: One of everything.",
        "description: One: of everything.",
        "plain.md:2: the front matter is no YAML: mapping values are not allowed here",
    ),
    Mutation(
        "front matter with half of a character",
        PAGE,
        "description: One of everything.",
        r'description: "One of everything \ud83d"',
        "plain.md:2: the front matter holds half of a character",
    ),
    Mutation(
        "front matter that never ends",
        PAGE,
        "description: One of everything.\n---\n",
        "description: One of everything.\n",
        "plain.md:1: the front matter never ends",
    ),
    Mutation("a page that is not in nav", CONFIG, "  - How: how.md\n", "", "docs/how.md: this page is not in nav"),
    Mutation(
        "a page whose name is no address",
        "docs/My page.md",
        None,
        "---\ndescription: Words.\n---\n# Mine\n",
        "docs/My page.md: the name of this page becomes its address, and is none",
    ),
    Mutation(
        "a page that nothing collects",
        "docs/demo/extra.markdown",
        None,
        "---\ndescription: Words.\n---\n# Mine\n\n```python\nprint(1 / 0)\n```\n",
        "docs/demo/extra.markdown: nothing runs the blocks of a page with this suffix",
    ),
    Mutation(
        "a page of HTML",
        "docs/assets/raw.html",
        None,
        "<script>alert(1)</script>\n",
        "docs/assets/raw.html: a file of this kind is published as it is",
    ),
    Mutation(
        "a page of XHTML",
        "docs/assets/raw.xht",
        None,
        '<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>\n',
        "docs/assets/raw.xht: a file of this kind is published as it is",
    ),
    Mutation(
        "a drawing with a script",
        "docs/assets/raw.svg",
        None,
        '<svg xmlns="http://www.w3.org/2000/svg">\n<script>alert(1)</script></svg>\n',
        "docs/assets/raw.svg:2: a drawing is published with no security policy, and holds the element `script`",
    ),
    Mutation(
        "a page of HTML beside a program",
        PROGRAM,
        "# devices = 0\n",
        '# devices = 0\n# files = ["raw.html"]\n',
        "plain.py:7: [tool.guide] names 'raw.html' in files, but a file of this kind is published as it is",
    ),
    Mutation(
        "two pages of one address",
        "docs/labs/tiny.md",
        None,
        "---\ndescription: Words.\n---\n# Mine\n",
        "docs/labs/tiny.ipynb and docs/labs/tiny.md have one address",
    ),
    Mutation(
        "a link to a file that the repository does not have",
        PAGE,
        "Just words.\n```",
        'Just words.\n```\n\nSee <a href="/__source__/tests/none.py">it</a>.',
        "plain.md:68: a link to tests/none.py, which the repository does not have",
    ),
    Mutation(
        "a page of nav that does not exist",
        CONFIG,
        "how.md",
        "hew.md",
        "mkdocs.yml:14: nav names hew.md, and there is no page docs/hew.md",
    ),
    Mutation(
        "a page of nav twice", CONFIG, "  - How: how.md\n", "  - how.md\n  - A: how.md\n", "mkdocs.yml:15: nav names"
    ),
    Mutation(
        "a section of nav without pages",
        CONFIG,
        "  - How: how.md\n",
        "  - How: how.md\n  - A: []\n",
        "mkdocs.yml:15: the section 'A' of nav has no pages",
    ),
    Mutation(
        "a page that is excluded",
        CONFIG,
        "strict: true\n",
        "strict: true\nexclude_docs: how.md\n",
        "mkdocs.yml:15: nav names how.md, which",
    ),
    # Labs.
    Mutation("a lab that changed", LAB, "1 + 1", "1 + 2", "tiny.py: this lab changed after it was recorded"),
    Mutation("a lab without a script", LAB, None, None, "this notebook has no script"),
    Mutation("a lab edited by hand", LAB_RECORD, '"guide": {', '"gilde": {', "was not written by `make record`"),
    Mutation("a lab without a record", LAB_RECORD, None, None, "docs/labs/tiny.py: this lab has no record"),
    Mutation("a lab that is not JSON", LAB_RECORD, '"cells": [', '"cells": [,', "tiny.ipynb:2: this is no notebook"),
    Mutation("a lab that is no notebook", LAB_RECORD, '"outputs": [', '"output": [', "this is no notebook: in cell 2"),
    Mutation(
        "a drawing with a script in a lab",
        LAB_RECORD,
        '"name": "stdout",\n     "output_type": "stream",\n     "text": [\n      "2\\n"\n     ]\n',
        '"data": {"image/svg+xml": "<svg><script/></svg>"}, "metadata": {"image/svg+xml": {"alt": "A dot"}},\n'
        '     "output_type": "display_data"\n',
        "tiny.ipynb:16: a drawing is published with no security policy, and holds the element `script`",
    ),
    Mutation("a cell that its lab lacks", LAB_RECORD, "It adds.", "It counts.", "cell 1 is not that of tiny.py"),
    # What only running tells.
    Mutation(
        "broken code in a note", PAGE, "    print(a)\n", "    print(aa)\n", "plain.md:24: this block failed", "tests"
    ),
    Mutation("broken code in a tab", PAGE, "print(a * 2)", "print(b * 2)", "plain.md:31: this block failed", "tests"),
    Mutation(
        "a block that needs one removed",
        PAGE,
        "    a = 3\n    print(a)\n",
        "    print(3)\n",
        "plain.md:30: this block failed",
        "tests",
    ),
    Mutation(
        "sys.exit(0) in a block",
        PAGE,
        "print(a * 2)",
        "import sys; sys.exit(0)",
        "plain.md:32: it left early with sys.exit(0)",
        "tests",
    ),
    Mutation(
        "os._exit(0) in a block",
        PAGE,
        "print(a * 2)",
        "import os; os._exit(0)",
        "plain.md:31: it ended with os._exit(0) before its end",
        "tests",
    ),
    Mutation(
        "a TypeError in a block",
        PAGE,
        "print(a * 2)",
        "raise TypeError('x')",
        "plain.md:31: this block failed",
        "tests",
    ),
    Mutation("a failing shell block", PAGE, "echo hello", "false", "plain.md:55: this sh block does not hold", "tests"),
    Mutation(
        "shell that does not parse",
        README,
        "echo readme",
        "if then",
        "README.md:5: this sh block does not hold",
        "tests",
    ),
    Mutation(
        "JavaScript that fails",
        PAGE,
        "console.log(1 + 1)",
        "throw new Error('no')",
        "plain.md:60: this js block",
        "tests",
    ),
    Mutation(
        "broken JSON", PAGE, '{"a": [1, 2]}', '{"a": [1, 2}', "plain.md:37: this json block does not hold", "tests"
    ),
    Mutation("broken YAML", PAGE, "    a: 1\n", "    a: [1\n", "plain.md:43: this yaml block does not hold", "tests"),
    Mutation(
        "a key twice in YAML",
        PAGE,
        "    a: 1\n",
        "    a: 1\n    a: 2\n",
        "plain.md:43: this yaml block does not hold: the key 'a' stands twice",
        "tests",
    ),
    Mutation("broken TOML", PAGE, "    a = 1\n", "    a = \n", "plain.md:49: this toml block does not hold", "tests"),
    Mutation(
        "a template that does not parse",
        "hooks/theme/main.html",
        "{% extends",
        "{% extend",
        "hooks/theme/main.html:2: this template cannot be rendered (TemplateSyntaxError",
    ),
    Mutation(
        "a template that fails when it is rendered",
        "hooks/theme/main.html",
        "{{ super() }}",
        "{{ pages.nobody.first }}",
        "hooks/theme/main.html:7: this template cannot be rendered (UndefinedError",
    ),
    Mutation(
        "Python that does not parse, not run",
        PAGE,
        "import libtpu",
        "import libtpu as",
        "plain.md:68: this python block",
        "tests",
    ),
]

# Changes of a program whose record says the same program: the record is given the new hash, so only a run can tell.
PROGRAM_MUTATIONS = [
    Mutation(
        "an endless loop",
        PROGRAM,
        "claims =",
        "while True: pass\nclaims =",
        "plain.py:23: it still ran after 5 s and was killed",
        "tests",
    ),
    Mutation(
        "sys.exit(0) in a program",
        PROGRAM,
        "claims =",
        "import sys; sys.exit(0)\nclaims =",
        "plain.py:23: it left early with sys.exit(0)",
        "tests",
    ),
    Mutation(
        "os._exit(0) in a program",
        PROGRAM,
        "claims =",
        "import os; os._exit(0)\nclaims =",
        "plain.py: it ended with os._exit(0) before its end",
        "tests",
    ),
    Mutation(
        "a program that prints something else",
        PROGRAM,
        '"total:"',
        '"sum:"',
        "it printed 'sum: 6', the record says 'total: 6'",
        "tests",
    ),
    Mutation(
        "a program whose claim is false now",
        PROGRAM,
        "total == 6,",
        "total == 7,",
        "claim 'is_six' is False, the record says True",
        "tests",
    ),
    Mutation(
        "a program that raises",
        PROGRAM,
        "claims =",
        "raise ValueError('no')\nclaims =",
        "plain.py:23: ValueError: no",
        "tests",
    ),
    Mutation(
        "a section that never runs",
        PROGRAM,
        "claims =",
        """\
if total > 100:
    # --8<-- [start:never]
    print("never")
    # --8<-- [end:never]
claims =""",
        "plain.py:25: section 'never' was never executed",
        "tests",
    ),
    Mutation(
        "a process left behind",
        PROGRAM,
        "claims =",
        "import subprocess; subprocess.Popen(['sleep', '600'])\nclaims =",
        "plain.py: it left a process behind: sleep 600",
        "tests",
    ),
    Mutation(
        "a claim that is no bool",
        PROGRAM,
        "total == 6,",
        "'yes',",
        "plain.py: claims['is_six'] is a str, it should be a plain bool",
        "tests",
    ),
]

CONTROL = Mutation("control", PAGE, "# Plain\n", "# Plain\n\nA word more.\n", "", "tests")
ALL = [CONTROL, *MUTATIONS, *PROGRAM_MUTATIONS]
