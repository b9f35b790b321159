"""Suite formats: the native one and those viva reads unchanged from other tools.

Owns: reading one file format each into a Suite.
Never: guesses: a key nobody knows is an error.
Start reading at: native.py.
"""
