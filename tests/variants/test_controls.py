from otherwords.problem import TASKS, Problem
from otherwords.registry import generators


def test_identity_repeats_every_problem_once():
    problems = [
        Problem(f"p{i}", TASKS["nli"], {"premise": f"P{i}", "hypothesis": "H"}, "neutral", {"n": i}) for i in (1, 2)
    ]
    variants = list(generators.make("identity").function(problems, [0, 1]))
    assert [(v.of, v.text, v.label, v.extra) for v in variants] == [(p.id, p.text, p.label, p.extra) for p in problems]
