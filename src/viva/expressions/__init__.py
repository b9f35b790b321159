"""CEL expressions over plain data, with budgets for steps and bytes.

Owns: parsing, evaluating and explaining expressions; translating the Kotlin forms of Embabel jobs.
Never: reaches a Python object, a file or the network.
Start reading at: cel.py.
"""
