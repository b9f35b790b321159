"""Public fakes and contract tests for plug-in authors.

Owns: FakeSubject, FakeModel, FakeClock, faults.
Never: is imported by the product.
Start reading at: fakes.py.
"""
