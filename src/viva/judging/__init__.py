"""The judge's chair.

Owns: prompt, fence, verdict, judge, panel.
Never: adds up: weights and totals never pass through a model.
Start reading at: judge.py, then verdict.py.
"""
