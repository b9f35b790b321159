"""A tiny agent to examine: it reads a question, answers it, and says what it understood.

Replace it with your own: `subject:` in suite.yml says how viva talks to it.
"""

import json
import sys

CAPITALS = {"France": "Paris", "Spain": "Madrid", "Italy": "Rome", "Japan": "Tokyo"}


def answer(question: str) -> dict[str, object]:
    """Answer a question about capitals."""
    for country, capital in CAPITALS.items():
        if country.lower() in question.lower():
            return {"text": f"The capital of {country} is {capital}.", "country": country, "capital": capital}
    return {"text": "Sorry, I do not know that country.", "country": None, "capital": None}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answer(sys.stdin.read())) + "\n")
