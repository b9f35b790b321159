"""Views of runs.

Owns: statistics, comparison, rendering.
Never: talks to agents or models.
Start reading at: summary.py.
"""
