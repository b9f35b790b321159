"""The misbehaving server is shared with the fault tests; a kit and an opening for tests of subjects."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "faults"))
