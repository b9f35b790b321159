"""Lift between conditions, whose fault it was, and the report for people."""

import pytest

from viva.core.case import Case
from viva.core.evidence import Ending, Evidence
from viva.core.run import Run
from viva.core.score import Score, ScoreError, TrialResult
from viva.core.timing import timing_of
from viva.core.transcript import Transcript, Turn
from viva.core.variant import Variant
from viva.report.blame import whose_fault
from viva.report.summary import summarise
from viva.report.text import lift_line, text_report


def trial(case, variant, score, **more):
    outcome = more.pop("outcome", "pass")
    return TrialResult(trial=f"{case}@{variant}", case=case, variant=variant, outcome=outcome, score=score, **more)


def test_two_variants_are_compared_case_by_case():
    results = [trial(c, v, s) for c, before, after in (("a", 0.2, 0.5), ("b", 0.6, 0.8), ("c", 0.1, 0.5))
               for v, s in (("withheld", before), ("supplied", after))]  # fmt: skip
    lift = summarise((result, ()) for result in results).lift
    assert lift.lift.mean == pytest.approx(0.3)
    assert lift.both == pytest.approx(0.45)
    assert lift.interval.low < 0.3 < lift.interval.high
    assert "withheld → supplied: 0.300 → 0.600, lift +0.300" in lift_line(lift)


def test_one_case_has_a_lift_and_no_interval():
    lift = summarise((r, ()) for r in (trial("a", "withheld", 0.5), trial("a", "supplied", 1.0))).lift
    assert lift_line(lift) == (
        "withheld → supplied: 0.500 → 1.000, lift +0.500 (one case: no interval; n=1); average 0.750"
    )


def test_a_case_with_an_error_has_no_pair_and_is_said_to_have_none():
    results = [trial("a", "withheld", 0.5), trial("a", "supplied", None, outcome="error", error="timed_out")]
    lift = summarise((r, ()) for r in results).lift
    assert lift.lift.mean is None
    assert lift.unpaired == ("a",)
    assert "no case has a score under both" in lift_line(lift)


def test_one_variant_or_three_have_no_lift():
    assert summarise([(trial("a", "only", 1.0), ())]).lift is None
    assert summarise([(trial("a", name, 1.0), ()) for name in "xyz"]).lift is None


def test_scores_are_reported_with_and_without_the_trials_the_user_spoilt():
    results = [trial("a", "v", 1.0), trial("b", "v", 0.0, outcome="fail", flags=("user:volunteered_fact",))]
    summary = summarise((r, ()) for r in results)
    assert summary.score.mean == 0.5
    assert (summary.spoilt, summary.unspoilt.mean, summary.unspoilt.n) == (1, 1.0, 1)
    assert summary.blame == {"user": 1}


@pytest.mark.parametrize(
    ("result", "whose"),
    [
        (trial("a", "v", 1.0), ""),
        (trial("a", "v", 0.1, outcome="fail"), "agent"),
        (trial("a", "v", 0.1, outcome="fail", flags=("user:skipped_task",)), "user"),
        (trial("a", "v", None, outcome="error", error="timed_out"), "agent"),
        (trial("a", "v", None, outcome="error", error="judge_unreadable"), "judge"),
        (trial("a", "v", None, outcome="error", error="user_refused"), "user"),
        (trial("a", "v", None, outcome="error", error="graph_unreachable"), "harness"),
        (trial("a", "v", None, outcome="error", error="stage_error"), "harness"),
        (trial("a", "v", None, outcome="skipped", error="budget"), ""),
        *(
            (trial("a", "v", None, outcome="error", error=kind), "suite")
            for kind in (
                "expression_error",
                "missing_score",
                "cypher_syntax",
                "no_expected",
                "cost_unknown",
                "not_allowed",
                "bad_pattern",
                "no_graph",
                "sql_not_reading",
                "missing_file",
            )
        ),
        (trial("a", "v", None, outcome="error", error="missing_field"), "agent"),
        (trial("a", "v", None, outcome="error", error="missing_package"), "harness"),
        (trial("a", "v", None, outcome="error", error="sql_unreachable"), "harness"),
    ],
)
def test_it_says_whom_to_look_into_first(result, whose):
    assert whose_fault(result) == whose


def test_a_flag_of_a_score_and_of_its_trial_is_counted_once():
    score = Score(name="user", value=0.0, weight=0.0, flags=("user:empty_turn",))
    summary = summarise([(trial("a", "v", 1.0, flags=("user:empty_turn",)), [score])])
    assert summary.flags == {"user:empty_turn": 1}


class Kept:
    """A store of one trial."""

    def __init__(self, evidence, result, scores):
        self._evidence, self._result, self._scores = evidence, result, scores

    async def all_results(self, run_id, scoring=""):
        yield self._result, self._scores

    async def evidence(self, run_id, key):
        return self._evidence


async def test_the_report_marks_pitfalls_and_gives_unscaled_quantities_no_number():
    evidence = Evidence(trial="a", case=Case(id="a"), variant=Variant(), ending=Ending())
    scores = [
        Score(name="lies", value=0.0, passed=True, weight=-2.0, section="criteria"),
        Score(name="turns", value=1.0, raw=3.0, unit="turns", flags=("unscaled",), section="measures"),
    ]
    result = trial("a", "v", 1.0)
    run = Run(id="r1", suite="job", suite_hash="x", status="finished")
    report = text_report(Kept(evidence, result, scores), run, summarise([(result, scores)]))
    lines = [line async for line in report]
    assert "  0.00 pass  criteria: lies (pitfall)" in lines
    at = lines.index("     –       measures: turns")
    assert lines[at + 1].strip() == "3 turns"


async def test_the_report_holds_scores_facts_times_and_the_transcript_and_nothing_that_commands_a_terminal():
    turns = (
        Turn(role="user", text="Hello"),
        Turn(role="assistant", text="Hi\x1b]0;owned\x07\n[user] I am the user now", latency_ms=120.0),
    )
    talk = Transcript(turns=turns)
    evidence = Evidence(
        trial="job@withheld",
        case=Case(id="job", facts=("The sky is blue",)),
        variant=Variant(name="withheld", facts="withheld"),
        transcript=talk,
        timing=timing_of(talk, 200.0),
        notes={"persona": "Socrates"},
        ending=Ending(because="all done"),
    )
    result = trial("job", "withheld", 0.56, outcome="fail", parts={"timing": 1.0}, formula="embabel@1")
    scores = [
        Score(name="task-1", value=0.5, passed=False, reason="half", section="tasks", detail={"title": "Say hello"}),
        ScoreError(name="tone", kind="judge_refused", detail="no", section="tone"),
    ]
    summary = summarise([(result, scores)])
    run = Run(id="r1", suite="job", suite_hash="x", status="finished")
    text = "\n".join([line async for line in text_report(Kept(evidence, result, scores), run, summary)])
    for wanted in (
        "user: Socrates",
        "facts: withheld; 2 messages",
        "1 responses, average 120 ms",
        "0.50 FAIL  tasks: task-1 Say hello",
        "error      tone: tone: judge_refused",
        "= embabel@1",
        "- The sky is blue",
        "[user] Hello",
        "Average score: 0.56",
    ):
        assert wanted in text
    assert "\x1b" not in text
    assert "\n  [user] I am the user now" not in text
