"""The things under test.

Owns: talking to agents over HTTP, processes, Python calls, chat endpoints and recordings.
Never: retries, scores, or decides when to stop.
Start reading at: function.py, then http.py.
"""
