"""What decides an option of a question: `{claim: ...}` by the record of a program, `{source: ...}` by a citation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hooks import records, reference
from hooks.markup import DEVICES
from hooks.reference import Missing, Reference

MARK = re.compile(r"\s*\{\s*(?P<kind>[a-z]+)\s*:\s*(?P<what>[^{}]*?)\s*\}\s*$")
SOURCE = re.compile(r"https://[\w.-]+(?::\d+)?(?:[/?#]\S*)?")
SHAPE = "`{claim: section/program.py:name}`, `{claim: not section/program.py:name}` or `{source: https://...}`"


@dataclass(frozen=True)
class Claim:
    """A claim that an option rests on: the option is right when the claim's value is `wanted`."""

    reference: Reference
    wanted: bool

    def value(self) -> bool:
        """Return what the record says. One for the CPU must not be contradicted by another that is current.

        Raises:
            Missing: there is no such program or claim, or no current record, or another device says otherwise.
        """
        said = bool(reference.entry(self.reference, "claims")[0])
        program = reference.program_of(self.reference.program)
        for device in DEVICES if self.reference.device == "cpu" else ():
            record, _ = records.current_or_why(program, device)
            if record and record.claims.get(self.reference.name, said) is not said:
                cause = f"`{self.reference}` is {said} on the CPU, and {not said} in the record for {DEVICES[device]}"
                raise Missing(cause, "let the option rest on a claim that holds on both, or on a source")
        return said


@dataclass(frozen=True)
class Key:
    """What decides one option: claims that must all hold, or a source."""

    claims: tuple[Claim, ...] = ()
    source: str = ""

    def right(self) -> bool | None:
        """Return whether the option is right; None where only a source can say.

        Raises:
            Missing: a claim leads nowhere.
        """
        if self.source:
            return None
        values = [claim.value() is claim.wanted for claim in self.claims]  # every name is looked up
        return all(values)

    def __str__(self) -> str:
        """Return it as pages write it, without the braces."""
        if self.source:
            return f"source: {self.source}"
        return "claim: " + " and ".join(("" if c.wanted else "not ") + str(c.reference) for c in self.claims)


def split(text: str) -> tuple[str, Key]:
    """Split an option's line into its text and what decides it.

    Raises:
        Missing: it does not end with a well-formed mark.
    """
    match = MARK.search(text)
    if not match:
        raise Missing("the option does not say what decides it", f"end it with {SHAPE}")
    kind, what = match["kind"], " ".join(match["what"].split())
    if kind == "source":
        if not SOURCE.fullmatch(what):
            raise Missing(f"`{what}` is not a source", "cite one page by its `https://` address")
        return text[: match.start()], Key(source=what)
    if kind != "claim":
        raise Missing(f"an option is not decided by `{kind}:`", f"end it with {SHAPE}")
    return text[: match.start()], parse(f"claim: {what}")


def parse(text: str) -> Key:
    """Return the key whose `str` a text is.

    Raises:
        Missing: a claim of it is not well-formed.
    """
    kind, _, what = text.partition(": ")
    if kind == "source":
        return Key(source=what)
    return Key(claims=tuple(_claim(part) for part in what.split(" and ")))


def _claim(text: str) -> Claim:
    """Return the claim that `path:name` or `not path:name` spells."""
    wanted = not text.startswith("not ")
    return Claim(reference.parse(text.removeprefix("not ")), wanted)
