"""The hallway: the one place where rooms are wired together.

Owns: what a run is made of, starting and resuming it, scoring it again, and the view of it.
Never: talks to agents, models or files itself.
Start reading at: examine.py, then workshop.py.
"""

from viva.app.door import run_blocking
from viva.app.examine import examine, resume
from viva.app.kit import RunKit
from viva.app.remote import execute_trial
from viva.app.rescore import rescore
from viva.app.spec import RunSpec
from viva.app.view import RunView, TrialView, open_view
from viva.app.workshop import Workshop

__all__ = [
    "RunKit",
    "RunSpec",
    "RunView",
    "TrialView",
    "Workshop",
    "examine",
    "execute_trial",
    "open_view",
    "rescore",
    "resume",
    "run_blocking",
]
