"""The cellar: runs, evidence and scores in SQLite.

Owns: SQL, migrations, group commit, claims.
Never: decides what is owed.
Start reading at: sqlite.py.
"""
