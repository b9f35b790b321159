"""Lets `python -m viva` be `viva`."""

import os
import sys

# `python -m` puts the working directory first; a `yaml.py` lying there must not become ours.
if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109
    del sys.path[0]

from viva.cli.main import main

raise SystemExit(main())
