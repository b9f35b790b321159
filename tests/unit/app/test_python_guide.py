"""The Python guide's first example runs as it is written."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "python.md"


def test_the_first_example_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)[1]
    exec(compile(code, str(GUIDE), "exec"), {"__name__": "guide"})
    assert capsys.readouterr().out.splitlines() == [
        "finished 0.5 0.5",
        "france pass 1.0 It is Paris.",
        "spain fail 0.0 It is Paris.",
    ]
