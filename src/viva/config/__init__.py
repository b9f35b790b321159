"""The letterbox: YAML in, Suite out.

Owns: files, locations, limits on input, the environment, JSON Schema.
Never: builds or runs anything.
Start reading at: load.py.
"""
