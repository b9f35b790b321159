"""Lets `python -m viva` be `viva`."""

from viva.cli.main import main

raise SystemExit(main())
