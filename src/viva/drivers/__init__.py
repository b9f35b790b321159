"""Who talks to the subject.

Owns: what is said next, and why the conversation stops.
Never: talks to the subject except through the conversation it was given.
Start reading at: once.py.
"""
