"""Measures: observed quantities.

Owns: numbers on their own scale with a place between 0 and 1, counted, compared or rated by the judge.
Never: decides whether a trial passes.
Start reading at: text.py, then rated.py.
"""
