"""Scorers and formulas.

Owns: turning evidence into scores, and scores into one number.
Never: talks to the agent.
Start reading at: scorer.py, then formulas.py.
"""
