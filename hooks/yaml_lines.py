"""Where things stand in YAML: what PyYAML knows while it reads, and forgets when it hands out plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from hooks.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator


def lines_of(text: str, value: object) -> list[int]:
    """Return the lines, from 1, at which a key or a value stands.

    Args:
        text: YAML that can be read.
        value: a plain one; numbers are found as they are written.
    """
    return [
        node.start_mark.line + 1
        for node in _nodes(text)
        if isinstance(node, yaml.ScalarNode) and node.value == str(value)
    ]


def line_at(text: str, *path: object) -> int:
    """Return the line, from 1, to which a path leads: keys one inside the other, at its end perhaps an item of a list.

    Where that is not there, the line of the last part that is; 1 where none is.

    Args:
        text: YAML that can be read, of one document.
        path: as in `lines_of`.
    """
    node, line = yaml.compose(text, yaml.SafeLoader), 1
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pairs = node.value
        else:
            pairs = [(item, None) for item in node.value] if isinstance(node, yaml.SequenceNode) else []
        found = next((pair for pair in pairs if pair[0].value == str(part)), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def twice(text: str) -> tuple[str, int] | None:
    """Return the first key that stands twice in one mapping, and the line of the second; None where none does.

    Raises:
        yaml.YAMLError: it cannot be read.
    """
    for node in _nodes(text):
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    return key.value, key.start_mark.line + 1
                seen.add(key.value)
    return None


def cut(text: str) -> int:
    """Return the line of the first text with half of a character in UTF-16, as escapes make it; 0 where none has one.

    Raises:
        yaml.YAMLError: it cannot be read.
    """
    scalars = (node for node in _nodes(text) if isinstance(node, yaml.ScalarNode))
    return next((node.start_mark.line + 1 for node in scalars if printable(node.value) != node.value), 0)


def _nodes(text: str) -> Iterator[yaml.Node]:
    """Yield every node of all documents once, in order; tags such as `!ENV` need no meaning for that."""
    left = [node for node in reversed(list(yaml.compose_all(text, yaml.SafeLoader))) if node]
    seen = set()  # an alias leads to a node again, perhaps from inside of it
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, yaml.MappingNode):
            left += [one for pair in reversed(node.value) for one in reversed(pair)]
        elif isinstance(node, yaml.SequenceNode):
            left += reversed(node.value)
