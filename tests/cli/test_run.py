"""otherwords run: a study from a file, from flags, from both; what it prints and leaves."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import polars as pl
import pytest

STUDY = """
name = "mine"
data = ["problems.jsonl"]
vary = ["contractions"]
models = ["scripted"]
canary = false
replicates = 100
"""
FLAGS = ("--data", "problems.jsonl", "-w", "contractions", "-m", "scripted", "--no-canary", "--replicates", "100")


@pytest.fixture
def study(problems, place):
    (place / "study.toml").write_text(STUDY)
    return place / "study.toml"


def _run(place, name="mine"):
    """The one folder of a study that was run without -o."""
    [folder] = (place / "runs").glob(f"{name}-??????")
    return folder


def _scores(folder):
    return json.loads((folder / "scores.json").read_text(encoding="utf-8"))


def test_a_study_file(cli, study, place, leftovers):
    result = cli("run", "study.toml")
    folder = _run(place)
    assert sorted(path.name for path in folder.iterdir()) == [
        ".lock", "answers", "buckets", "manifest.json", "notes", "problems", "report.html", "scores.json", "study.toml",
        "variants",
    ]  # fmt: skip
    assert result.stdout.splitlines()[-1] == f"runs/{folder.name}/report.html"
    for text in ("flip_rate", "95% interval", "p_c"):
        assert text in result.stdout
    assert "3 rows taken in, 3 originals, 5 variants made" in result.stderr
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")
    assert leftovers() == []


def test_the_file_gives_its_name_to_the_folder(cli, study, place):
    study.write_text(STUDY.replace('name = "mine"\n', ""))
    cli("run", "study.toml", "-q")
    assert (_run(place, "study") / "scores.json").is_file()


def test_flags_alone_give_the_same_scores_as_the_file(cli, study, place):
    cli("run", "study.toml", "-q")
    cli("run", *FLAGS, "-o", "by flags", "-q")
    assert (place / "by flags" / "scores.json").read_bytes() == (_run(place) / "scores.json").read_bytes()


def test_flags_come_on_top_of_the_file(cli, study, place):
    cli(
        "run",
        study,
        "--seed",
        "5",
        "--metric",
        "p_c",
        "-m",
        "one=scripted(seed=1)",
        "-m",
        "two=scripted",
        "-o",
        "x",
        "-q",
    )
    assert [(score["metric"], score["model"]) for score in _scores(place / "x")] == [("p_c", "one"), ("p_c", "two")]
    assert json.loads((place / "x" / "manifest.json").read_text())["seed"] == 5


def test_json_is_scores_json(cli, study, place):
    result = cli("run", "study.toml", "--json", "-q")
    assert result.stderr == ""
    assert json.loads(result.stdout) == _scores(_run(place))


def test_quiet_prints_nothing(cli, study):
    result = cli("run", "study.toml", "-q")
    assert (result.stdout, result.stderr) == ("", "")


def test_gates(cli, study, place):
    cli("run", "study.toml", "--require", "flip_rate<=1", "-q")
    assert "flip_rate is" in cli("run", "study.toml", "--require", "flip_rate<0", "-q", rc=1).stderr
    error = cli("run", "study.toml", "--require", "fliprate<0", "-q", "-o", "new", rc=2).stderr
    assert "no score named 'fliprate'; did you mean flip_rate? Available: label_mass, repeat_flips, flip" in error
    assert not (place / "new").exists()


def test_what_a_gate_is_about_is_measured(cli, study, place):
    gates = ("--require", "pa(at=0.5)>=0", "--require", "flip_rate[topic=people].high<=1")
    shown = cli("run", study, "--metric", "flip_rate", *gates)
    lines = [line for line in shown.stderr.splitlines() if line.startswith("passed: ")]
    assert [line.split(" is ")[0] for line in lines] == [
        "passed: scripted: pa(at=0.5)",
        "passed: scripted: flip_rate[topic=people].high",
    ]
    found = {(score["metric"], score["group"]) for score in _scores(_run(place))}
    assert {("flip_rate", "topic=people"), ("pa", None)} <= found
    manifest = json.loads((_run(place) / "manifest.json").read_text())
    assert [(one["gate"], one["model"], one["passed"]) for one in manifest["gates"]] == [
        ("pa(at=0.5)>=0", "scripted", True),
        ("flip_rate[topic=people].high<=1", "scripted", True),
    ]
    cli("score", _run(place), "--require", "lexical_distance<=1", "-q")  # with the texts of the run


@pytest.mark.parametrize(
    "gate",
    ["flip_rate[topic=sport]<1", "flip_rate[model=m]<1", "flip_rate[how=wordnet]<1", "sensitivity>0", "sigma:upside<1"],
)
def test_gates_are_refused_before_anything_is_varied_or_asked(cli, study, place, gate):
    error = cli("run", study, "--require", gate, "-q", "-o", "new", rc=2).stderr
    assert "Traceback" not in error
    assert not (place / "new" / "variants").exists()


def test_a_study_file_has_gates(cli, study, place):
    study.write_text(STUDY + 'require = ["flip_rate<=1", "flip_rate<0"]\n')
    shown = cli("run", study, rc=1)
    assert "error: scripted: flip_rate is" in shown.stderr
    assert "passed: scripted: flip_rate is" in shown.stderr
    report = (_run(place) / "report.html").read_text(encoding="utf-8")
    assert "<b>Gates</b>" in report
    assert report.count("✓ passed") == report.count("✗ failed") == 1
    cli("run", _run(place), "-q", rc=1)  # continued with its gates
    cli("run", study, "--require", "flip_rate<=1", "-q")  # which the option replaces, in the same folder
    assert "✗ failed" not in (_run(place) / "report.html").read_text(encoding="utf-8")
    study.write_text(STUDY + 'require = "flips<1"\n')
    assert "no score named 'flips'" in cli("run", study, rc=2).stderr


def test_a_certificate_of_a_run(cli, problems, write_jsonl, place):
    rows = [{"id": "p", "premise": "A man sleeps.", "hypothesis": "A man is asleep.", "label": "entailment"}]
    rows += [{**rows[0], "id": "q", "of": "p", "hypothesis": "Nobody sleeps.", "label": "contradiction"}]
    write_jsonl(place / "contrasts.jsonl", [{**row, "contrast": "mine"} for row in rows])
    gate = ("--require", "certificate(flip_rate<=0.5, sensitivity>=0.5)")
    assert "no contrasts" in cli("run", *FLAGS, *gate, "-q", "-o", "new", rc=2).stderr
    (place / "one.py").write_text("def ask(batch):\n    return ['neutral'] * len(batch)\n")
    one = [flag if flag != "scripted" else "one=python:one.py:ask" for flag in FLAGS]
    error = cli("run", *one, "--data", "contrasts.jsonl", *gate, "-w", "identity", "-o", "out", rc=1).stderr
    assert "error: certificate: one, flip_rate at most 50 % (0.0 %, 95 % interval" in error
    assert "the same text never got another answer: failed; otherwords" in error


def test_groups(cli, study, place):
    cli("run", "study.toml", "--by", "topic", "--metric", "flip_rate", "-q")
    assert [score["group"] for score in _scores(_run(place))] == [None, "topic=people", "topic=weather"]
    error = cli("run", "study.toml", "--by", "colour", "-q", rc=2).stderr
    assert "no column 'colour' to group by; available: bucket, check:surface" in error


def test_checks_drop_variants_and_the_manifest_counts_them(cli, study, repeated, place):
    data = ("--data", "problems.jsonl", "--data", repeated)
    cli("run", "study.toml", *data, "-w", "contractions", "--check", "surface", "--check", "overlap(most=1)", "-q")
    folder = _run(place)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["counts"] == {"variants": 5, "unvaried": 0, "dropped": 3, "asked": 8}
    buckets = pl.read_parquet(folder / "buckets" / "*.parquet")
    assert buckets.height == 11
    assert buckets["check:surface"].sum() == 5
    assert pl.read_parquet(folder / "answers" / "*" / "*.parquet").height == 8


def test_data_that_holds_variants_needs_no_generator(cli, problems, place):
    cli("vary", problems, "-w", "contractions", "--suite", "-o", "suite.csv", "-q")
    cli("run", "--data", "suite.csv", "-m", "scripted", "--no-canary", "-o", "suite run", "-q", "--replicates", 100)
    cli("run", *FLAGS, "-o", "made run", "-q")
    assert _scores(place / "suite run") == _scores(place / "made run")
    assert not (place / "suite run" / "variants").exists()


def test_nothing_to_compare(cli, problems):
    error = cli("run", "--data", problems, "-m", "scripted", "--no-canary", "-q", rc=2).stderr
    assert error == ("error: no variants; add a generator (vary = [...], --with), or use data with variants\n")


def test_a_task_within_the_study(cli, write_jsonl, place):
    rows = [
        {"id": str(i), "first": f"It isn't {i}.", "second": "So.", "hypothesis": "They aren't.", "label": "no"}
        for i in range(4)
    ]
    write_jsonl(place / "two.jsonl", rows)
    (place / "two.toml").write_text(
        'data = ["two.jsonl"]\nvary = ["contractions"]\nmodels = ["scripted"]\nreplicates = 50\n'
        '[task]\nname = "two-premise"\nfields = ["first", "second", "hypothesis"]\nlabels = ["yes", "no"]\n'
    )
    cli("run", "two.toml", "-q")
    pairs = ("p_c", "p_c_distinct", "label_agreement")  # which a single variant does not make
    assert {score["n_units"] for score in _scores(_run(place, "two")) if score["metric"] not in pairs} == {4}


def test_columns_labels_and_label_map_in_the_study(cli, write_jsonl, place):
    rows = [{"nr": i, "s1": f"It isn't {i}.", "s2": "So.", "gold": i % 3, "topic": "x"} for i in range(6)]
    write_jsonl(place / "odd.jsonl", rows)
    (place / "odd.toml").write_text(
        'data = ["odd.jsonl"]\nvary = ["contractions"]\nmodels = ["scripted(otherwise=neutral)"]\nreplicates = 50\n'
        "canary = false\n"
        '[columns]\nid = "nr"\npremise = "s1"\nhypothesis = "s2"\nlabel = "gold"\n'
        '[labels]\n0 = "entailment"\n1 = "neutral"\n2 = "contradiction"\n'
        '[label_map]\nentailment = "entailment"\nneutral = "contradiction"\ncontradiction = "neutral"\n'
    )
    cli("run", "odd.toml", "-q")
    answers = pl.read_parquet(_run(place, "odd") / "answers" / "*" / "*.parquet")
    assert set(answers["pred"]) == {"contradiction"}
    assert sorted(set(answers["gold"])) == ["contradiction", "entailment", "neutral"]


def test_no_cache_in_the_study(cli, study, place, tmp_path):
    study.write_text(STUDY.replace('"scripted"', f'"scripted(log={tmp_path / "log"})"') + "cache = false\n")
    cli("run", "study.toml", "-q")
    cli("run", "study.toml", "-q", "-o", "again")
    log = (tmp_path / "log").read_text().splitlines()
    assert len(log) == 2 * len(set(log)) == 16


def test_windows_line_ends_and_mark_in_the_study(cli, study, place):
    study.write_bytes(b"\xef\xbb\xbf" + STUDY.replace("\n", "\r\n").encode())
    cli("run", "study.toml", "-q")
    assert (_run(place) / "scores.json").is_file()


def test_from_another_directory(cli, study, place, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    cli("run", "../here/study.toml", "--data", "../here/problems.jsonl", "-q")
    assert (_run(tmp_path / "elsewhere") / "scores.json").is_file()


def test_names_with_everything_in_them(cli, write_jsonl, place):
    from otherwords.registry import datasets  # noqa: F401 (a file named like an option list is still a file)

    good = {"premise": "It isn't so.", "hypothesis": "Ü.", "label": "neutral"}
    name = "so [1] (x=2), {ü} *? 'q'.jsonl"
    write_jsonl(place / name, [{"id": str(i), **good, "premise": f"It isn't {i}."} for i in range(3)])
    cli("run", "--data", name, "-w", "contractions", "-m", "scripted", "--no-canary", "-o", "run [1] * (ü)", "-q")
    assert (place / "run [1] * (ü)" / "scores.json").is_file()
    cli("run", "--data", name, "-w", "contractions", "-m", "scripted", "--no-canary", "-o", "run [1] * (ü)", "-q")
    cli("report", "run [1] * (ü)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('modles = ["x"]\n', "study.toml: modles: no such setting; did you mean models? available: name, data, task"),
        ('data = "p.jsonl"\nmodels = ["scripted"]\n', "p.jsonl: no such file"),
        ('data = [3]\nmodels = ["scripted"]\n', "data: found 3; give names of files"),
        ('data = ["p.jsonl"\n', "study.toml: cannot be read as a study: "),
        ("data = ['p.jsonl']\nmodels = []\n", 'study.toml: no models named; write models = ["..."]'),
        ("models = ['scripted']\n", 'study.toml: no data named; write data = ["..."]'),
        (STUDY.replace("100", "0"), "study.toml: replicates: found 0; "),
        (STUDY + "confidence = 95\n", "study.toml: confidence: found 95; "),
        (STUDY + 'seed = "x"\n', "study.toml: seed: found 'x'; "),
        (STUDY + "cache = 3\n", "study.toml: cache: found 3; "),
        (STUDY + "task = 'nil'\n", "no task 'nil'; available: nli"),
        (STUDY + "[task]\nfields = 'x'\nlabels = ['a', 'b']\n", "fields must be a list of names"),
        (
            STUDY + "metrics = ['fliprate']\n",
            "no metrics named 'fliprate'; did you mean flip_rate? Available: ",
        ),
        (
            STUDY + "check = ['surfaces']\n",
            "no checks named 'surfaces'; did you mean surface? Available: ",
        ),
        (
            STUDY.replace("contractions", "contraction"),
            "no generators named 'contraction'; did you mean contractions? ",
        ),
        (STUDY.replace("scripted", "scrpted"), "no models named 'scrpted'; did you mean scripted? Available: "),
        (STUDY.replace("scripted", "scripted(sed=3)"), "scripted.v1 has no option sed; it has script"),
        (STUDY.replace('"scripted"', '"m=scripted", "m=bag_of_words"'), "two models have the same name"),
        (STUDY.replace("problems.jsonl", "problem.jsonl"), "problem.jsonl: no such file"),
        (STUDY.replace("problems.jsonl", "snlii:x"), "no file and no data set 'snlii:x'; data sets: alpha_nli"),
    ],
)
def test_a_wrong_study_leaves_nothing_behind(cli, problems, place, leftovers, text, message):
    (place / "study.toml").write_text(text)
    error = cli("run", "study.toml", "-o", "run", rc=2).stderr
    assert error.splitlines()[-1].startswith(f"error: {message}") or message in error.splitlines()[-1]
    assert "Traceback" not in error
    if "sed" not in text:  # a model's options are read when it is loaded, after the problems
        assert not (place / "run").exists()
    assert leftovers() == []


def test_not_a_study(cli, problems, place):
    assert cli("run", "absent.toml", rc=2).stderr.startswith("error: absent.toml: no such file; give a TOML")
    assert "to run on data, use --data" in cli("run", problems, rc=2).stderr
    assert "--data" in cli("run", rc=2).stderr
    assert "--model" in cli("run", "--data", problems, rc=2).stderr
    (place / "binary.toml").write_bytes(b"\x80\x81\x82")
    assert "UTF-8" in cli("run", "binary.toml", rc=2).stderr


def test_a_file_in_the_place_of_the_folder(cli, study, place):
    error = cli("run", "study.toml", "-o", "problems.jsonl", "-q", rc=2).stderr
    assert error == "error: problems.jsonl: is a file, not a folder; choose another folder with -o\n"


def test_bad_rows_are_skipped_on_request_and_kept_with_the_reason(cli, study, problems, place, lines):
    problems.write_text(problems.read_text(encoding="utf-8") + '{"id": "bad"}\n{"id": "d", "label"\n', encoding="utf-8")
    assert "problems.jsonl, line 4: premise: no such column" in cli("run", "study.toml", rc=2).stderr
    assert not (place / "runs").exists()
    result = cli("run", "study.toml", "--skip-bad")
    assert "3 rows taken in, 3 originals, 2 rejected" in result.stderr
    rejected = lines(_run(place) / "rejected.jsonl")
    assert [row["where"] for row in rejected] == ["problems.jsonl, line 4", "problems.jsonl, line 5"]
    assert rejected[0]["row"] == {"id": "bad"}
    assert rejected[0]["field"] == "premise"
    cli("run", "study.toml", "--skip-bad", "-q")
    assert len(lines(_run(place) / "rejected.jsonl")) == 2  # still there when nothing was read again
    problems.write_text("".join(problems.read_text(encoding="utf-8").splitlines(keepends=True)[:3]), encoding="utf-8")
    cli("run", "study.toml", "--skip-bad", "-q")
    assert not (_run(place) / "rejected.jsonl").exists()


@pytest.mark.filterwarnings("default")  # what a user sees
def test_another_study_in_the_folder_is_named_before_it_is_replaced(cli, study, place):
    quick = ("-m", "scripted", "--no-canary", "--replicates", "10", "-q")
    cli("run", *FLAGS, "-q", "-o", "z")
    again = cli("run", *FLAGS, "--metric", "flip_rate", "-q", "-o", "z")
    assert "another study" not in again.stderr
    other = cli("run", "--data", "everyday", "-w", "recorded", *quick, "-o", "z")
    assert "z held another study (data: problems.jsonl): its results will be replaced" in other.stderr
    assert "another study" not in "".join(json.loads((place / "z/manifest.json").read_text())["warnings"])


@pytest.mark.filterwarnings("default")  # what a user sees
def test_where_no_problem_was_reworded_the_last_line_says_what_to_try(cli, place, write_jsonl):
    row = {"id": "a", "premise": "Quux blah.", "hypothesis": "Blah quux.", "label": "neutral"}
    write_jsonl(place / "odd.jsonl", [row])
    done = cli("run", "--data", "odd.jsonl", "-w", "contractions", "-m", "scripted", "--no-canary", "-o", "z")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("no problem was reworded: try other generators, such as structural")
    assert "recorded:FILE" in last
    made = cli("vary", "odd.jsonl", "-w", "contractions", "-o", "v.jsonl")
    assert made.stderr.splitlines()[-1].startswith("no problem was reworded")


def test_a_run_is_a_folder(cli, problems):
    refused = cli("run", *FLAGS, "-o", "-", rc=2).stderr
    assert "-: a run is a folder" in refused


def test_replicates_have_an_end(cli, problems, place):
    for command in (("run", *FLAGS[:-2]), ("score", "answers.jsonl"), ("compare", "answers.jsonl")):
        assert "1000000" in cli(*command, "--replicates", "9" * 20, rc=2).stderr
    (place / "many.toml").write_text(STUDY.replace("replicates = 100", "replicates = 1000001"))
    assert "many.toml: replicates: found 1000001" in cli("run", "many.toml", rc=2).stderr


def test_models_stay_in_the_order_given(cli, problems):
    models = ("-m", "zulu=scripted(seed=1)", "-m", "alpha=scripted(seed=2)")
    flags = (*FLAGS[:4], *models, "--no-canary", "--replicates", "100", "--metric", "flip_rate")
    for shown in (cli("run", *flags, "-o", "z").stdout, cli("score", "z", "--metric", "flip_rate").stdout):
        assert shown.index("zulu") < shown.index("alpha")
    [row] = json.loads(cli("compare", "z", "--metric", "accuracy_original", "--json").stdout)
    assert (row["model"], row["other"]) == ("zulu", "alpha")


def test_a_table_of_what_was_dropped_only_where_something_was(cli, problems):
    run = ("run", "--data", problems, "-w", "contractions", "-m", "scripted", "--no-canary", "--no-cache", "-o", "run")
    assert "by it alone" not in cli(*run).stderr
    Path("none.py").write_text("def none(problem, variant): return variant.id.startswith('a')\n")
    assert "by it alone" in cli(*run, "--check", "python:none.py:none").stderr


def test_where_the_checks_drop_everything_the_error_says_so(cli, place, problems):
    Path("none.py").write_text("def none(problem, variant): return False\n")
    bare = [{k: v for k, v in json.loads(line).items() if k != "label"} for line in problems.read_text().splitlines()]
    problems.write_text("".join(json.dumps(row) + "\n" for row in bare))
    run = ("run", "--data", problems, "-w", "contractions", "-m", "scripted", "--no-canary", "--no-cache", "-o", "run")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = cli(*run, "--check", "python:none.py:none", rc=2).stderr
    assert "error: run: no variant is left: the checks dropped all 5 (python: " in error
    assert "; use other checks (--check) or other generators (--with)" in error
