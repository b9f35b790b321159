"""The contracts, one noun per file.

Owns: the Protocols that implementations in the working rooms and plug-ins fulfil.
Never: an implementation.
Start reading at: subject.py, driver.py, scorer.py.
"""
