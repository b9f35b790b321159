"""Plan, execute, schedule, retry, limits, stop.

Owns: what happens to trials, in which order, and what is kept.
Never: imports an implementation: it receives built objects.
Start reading at: schedule.py, then execute.py.
"""
