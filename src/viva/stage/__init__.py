"""The world around the agent.

Owns: setups, seeds, settle-wait, graphs, SQL, probes, undo.
Never: talks about scores.
Start reading at: stage.py.
"""
