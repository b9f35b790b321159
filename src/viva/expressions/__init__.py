"""CEL expressions over plain data, with budgets for steps and bytes.

Owns: parsing, evaluating and explaining expressions; translating the Kotlin forms of Embabel jobs; patterns.
Never: reaches a Python object, a file or the network.
Start reading at: cel.py.
"""

from viva.expressions.cel import Program, compile_expression
from viva.expressions.errors import ExpressionError
from viva.expressions.kotlin import kotlin_to_cel
from viva.expressions.pattern import compile_pattern
from viva.expressions.pattern_syntax import PatternError

__all__ = ["ExpressionError", "PatternError", "Program", "compile_expression", "compile_pattern", "kotlin_to_cel"]
