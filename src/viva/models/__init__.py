"""Language models by one name.

Owns: wire formats of providers, retry, adaptive concurrency, cache, prices.
Never: knows what a judge is.
Start reading at: catalogue.py.
"""
