"""The labelled set: small questions about judging whose answers are known, and what was measured with them.

Owns: items.jsonl (questions with answers), measured.json (judges whose accuracy was measured when viva was made).
Never: used to tune a prompt; then it would measure nothing.
Start reading at: load.py.
"""
