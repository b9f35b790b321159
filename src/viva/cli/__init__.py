"""The front door for people: a file per command.

Owns: arguments, terminal output, exit codes.
Never: does the work itself.
Start reading at: main.py.
"""
