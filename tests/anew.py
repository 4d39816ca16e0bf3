"""A module anew, for a test that changes what stands in it: threads beside it go on with the one that they use."""

from __future__ import annotations

from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


def anew(module: ModuleType) -> Any:
    """Return a module of the same source that nobody else has; what it imports is the same."""
    spec = module.__spec__
    assert spec
    assert spec.loader
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
