"""The fifteen words, as frozen and serialisable data.

Owns: what a suite, case, trial, transcript, evidence, score and run *are*.
Never: imports another room of viva, does I/O, reads a clock.
Start reading at: suite.py, then trial.py, evidence.py, score.py.
"""
