"""The sockets: bounded, deadline-keeping HTTP for subjects, models and the stage.

Owns: aiohttp sessions, total deadlines, byte ceilings, redirects, server-sent events, Retry-After.
Never: retries, knows what a body means.
Start reading at: client.py.
"""
