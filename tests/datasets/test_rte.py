from collections import Counter

import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput

RTE1 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE entailment-corpus SYSTEM "rte.dtd">
<entailment-corpus challenge="1">
<pair id="8" value="FALSE" task="IR">
	<t>Crude oil traded at $37.80, don&apos;t ask &amp; don't tell</t>
	<h>
	Prices rose
in Zürich
	</h>
</pair>
<pair id="13" value="TRUE" task="IR">
	<t>Strong sales.</t>
	<h>Sales.</h>
</pair>
</entailment-corpus>
"""
RTE3 = """<?xml version="1.0" encoding="UTF-8" ?>
<entailment-corpus challenge="3">
	<pair id="8" entailment="YES" task="IE" length="short" >
		<t>Claude Chabrol is a director.</t>
		<h>He directs.</h>
	</pair>
	<pair id="2" entailment="NO" task="IE" length="long" ><t>A.</t><h>B.</h></pair>
</entailment-corpus>
"""


def written(path, text, end="\n", mark=""):
    path.write_bytes((mark + text).replace("\n", end).encode())
    return path


@pytest.mark.parametrize(("end", "mark"), [("\n", ""), ("\r\n", ""), ("\r\n", "\ufeff")])
def test_rte1_layout_with_a_dtd_that_is_not_fetched(tmp_path, take, end, mark):
    (tmp_path / "rte.dtd").write_text("<!THIS is no DTD and would break the reading")
    rows, _ = take(f"rte:{written(tmp_path / 'rte1_dev.xml', RTE1, end, mark)}")
    assert [(r["id"], r["label"], r["source_task"]) for r in rows] == [
        ("rte1_dev-8", "not-entailed", "IR"),
        ("rte1_dev-13", "entailed", "IR"),
    ]
    assert rows[0]["premise"] == "Crude oil traded at $37.80, don't ask & don't tell"
    assert rows[0]["hypothesis"] == "Prices rose\nin Zürich"


def test_rte3_layout(tmp_path, take):
    rows, _ = take(f"rte:{written(tmp_path / 'rte3_test.xml', RTE3)}")
    assert [(r["id"], r["label"], r["source_task"], r["length"]) for r in rows] == [
        ("rte3_test-8", "entailed", "IE", "short"),
        ("rte3_test-2", "not-entailed", "IE", "long"),
    ]


def test_bad_pairs_are_bad_alone(tmp_path, take):
    text = """<!DOCTYPE entailment-corpus SYSTEM "rte.dtd">
<entailment-corpus>
<pair id="1" value="TRUE"><t>A.</t><h>B.</h></pair><t>outside</t>
<pair value="TRUE"><t>A.</t><h>B.</h></pair>
<pair id="3"><t>A.</t><h>B.</h></pair>
<pair id="4" value="TRUE"><t>A.</t></pair>
<pair id="5" value="TRUE"><t>A.</t><t>A2.</t><h>B.</h></pair>
<pair id="6" value="TRUE"><t>caf&eacute;</t><h>B.</h></pair>
<pair id="7" value="TRUE"><t> </t><h>B.</h></pair>
<pair id="8" value="MAYBE"><t>A.</t><h>B.</h></pair>
<pair id="1" value="TRUE"><t>A.</t><h>B.</h></pair>
<pair id="9" value="TRUE"><t>A <b>bold</b> claim.</t><h>B.</h></pair>
</entailment-corpus>"""
    path = written(tmp_path / "r.xml", text)
    rows, intake = take(f"rte:{path}", skip_bad=True)
    assert [(r["id"], r["premise"]) for r in rows] == [("r-1", "A."), ("r-9", "A bold claim.")]
    found = {bad["where"].rpartition(" ")[2]: bad["reason"] for bad in intake.rejected}
    for line, reason in {
        "4": "the pair has no id=",
        "5": "the pair has no value= or entailment=",
        "6": "the pair has no <h>",
        "7": "has two <t>",
        "8": "the entity &eacute;, which the file does not define",
        "9": "empty text",
        "10": "found 'MAYBE'",
        "11": "'r-1' occurs twice",
    }.items():
        assert reason in found.pop(line)
    assert not found


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY lol "lol">',
        '<!ENTITY lol SYSTEM "file:///etc/passwd">',
        '<!ENTITY % lol SYSTEM "http://127.0.0.1:9/x">',
    ],
)
def test_entity_declarations_are_refused(tmp_path, take, declaration):
    pair = '<pair id="1" value="TRUE"><t>&lol;</t><h>B</h></pair>'
    text = f'<?xml version="1.0"?>\n<!DOCTYPE c [\n{declaration}\n]>\n<c>{pair}</c>'
    with refuses(BadInput):
        take(f"rte:{written(tmp_path / 'r.xml', text)}", skip_bad=True)


@pytest.mark.parametrize(
    "text",
    [
        RTE3.replace("</h>\n\t</pair>", "</h>", 1),
        "",
        "<c/>",
        "<c>&eacute;</c>",
    ],
)
def test_malformed_files(tmp_path, take, text):
    with refuses(BadInput):
        take(f"rte:{written(tmp_path / 'r.xml', text)}", skip_bad=True)


def test_missing_file(tmp_path, take):
    with refuses(BadInput):
        take(f"rte:{tmp_path / 'gone.xml'}")


@pytest.mark.parametrize(
    ("file", "labels", "tasks"),
    [
        (
            "rte1_dev",
            {"entailed": 283, "not-entailed": 284},
            {"RC": 103, "CD": 98, "QA": 90, "PP": 82, "IR": 70, "IE": 70, "MT": 54},
        ),
        ("rte3_test", {"entailed": 410, "not-entailed": 390}, {"IE": 200, "IR": 200, "QA": 200, "SUM": 200}),
    ],
)
def test_as_released(originals, shared, take, file, labels, tasks):
    rows, intake = take(f"rte:{originals / 'rte' / f'{file}.xml'}")
    assert Counter(row["label"] for row in rows) == labels
    assert Counter(row["source_task"] for row in rows) == tasks
    assert intake.rejected == []
    # The same pairs, as another reader made a table of them.
    table = pl.read_parquet(shared / "rte" / "rte1_3.parquet")
    table = table.filter((pl.col("rte") == int(file[3])) & (pl.col("split") == file[5:]))
    released = {f"{file}-{r['id']}": (r["premise"], r["hypothesis"]) for r in table.iter_rows(named=True)}
    assert {row["id"]: (row["premise"], row["hypothesis"]) for row in rows} == released
