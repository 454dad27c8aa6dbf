"""The action of the format `region`: replace what stands between short anchors.

`model` says what a change is, `search` finds where it belongs, `depths` how deep its content shall
stand, `report` puts into words what came of it, and `action` is what the format hands out.
"""

from __future__ import annotations

from git_boocode.editing.regions.action import Regions
from git_boocode.editing.regions.model import Change

__all__ = ["Change", "Regions"]
