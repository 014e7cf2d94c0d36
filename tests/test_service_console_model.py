"""The console's model: what it is, its pictures, its network, pairs of columns, and questions to it."""

import re
import time

import pandas as pd
import pytest

from consoles import Visitor, words
from services import TABLE, make_vault, opened
from unlearnspn import Vault
from unlearnspn.service.roles import Role
from vault_states import features, people

NASTY = '"><script>alert(1)</script>{{7*7}}'
AGE, VISITS, TOWN, PAYS = range(4)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with opened(make_vault(tmp_path_factory.mktemp("model"))) as service:
        yield service


@pytest.fixture(scope="module")
def anna(service):
    return Visitor(service)


def empty_vault(folder, table=None):
    with Vault.create(folder / "people.uspn") as vault:
        if table is not None:
            vault.ingest(table, "customer", "person")
    return folder / "people.uspn"


def hostile_vault(folder):
    """Make a vault whose columns and categories are hostile, of every kind that there is."""
    n = len(TABLE)
    table = TABLE.rename(columns={"age": NASTY, "town": "a = b <i>"})
    table["a = b <i>"] = table["a = b <i>"].where(table["a = b <i>"] != "Ulm", NASTY)
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(range(n), "D")
    table["member"] = [i % 3 == 0 for i in range(n)]
    table["code"] = [f"<b>{i}</b>" for i in range(n)]
    return make_vault(folder, table)


# -- overview ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
def test_the_overview_tells_size_digests_and_distributions(service, role):
    page = Visitor(service, role).get("/model")
    text = words(page)
    digests = service.vault.info().digests
    assert "Records 90" in text
    assert "Columns 4" in text
    assert digests.model in text
    assert digests.state in text
    assert "min_rows" in text
    assert page.text.count('<svg class="chart"') == 2
    mean = service.vault.circuit_.expectation("age")
    assert f"mean {mean:.4g}" in text
    share = service.vault.circuit_.probability({"town": "Ulm"})
    assert f"Ulm {100 * share:.1f} %" in text


def test_numbers_are_german_for_germans(service):
    mean = service.vault.circuit_.expectation("age")
    assert f"Mittelwert {mean:.4g}".replace(".", ",") in words(Visitor(service, language="de").get("/model"))


def test_columns_are_shown_some_at_a_time(service, anna, monkeypatch):
    monkeypatch.setattr("unlearnspn.service.console.model._COLUMNS", 3)
    first, second = anna.get("/model"), anna.get("/model?from=3")
    assert "1 to 3 of 4" in words(first)
    assert "from=3" in first.text
    assert "4 to 4 of 4" in words(second)
    assert anna.get("/model?from=99").status_code == 404
    assert anna.get("/model?from=-1").status_code == 404


# -- held-out records --------------------------------------------------------------------------------------------------


@pytest.fixture
def desk(tmp_path):
    with opened(make_vault(tmp_path)) as service:
        yield service


def measure(visitor, table):
    return visitor.post("/model/held-out", _files={"file": ("held-out.csv", table.to_csv(index=False).encode())})


def test_records_that_the_model_has_not_seen_are_scored_and_not_kept(desk):
    anna, fresh = Visitor(desk), people(40, seed=9, first=5000)
    assert "Not known" in words(anna.get("/model"))
    answer = measure(anna, fresh)
    assert (answer.status_code, answer.headers["location"]) == (303, "/model#held-out")
    mean = desk.vault.circuit_.score_samples(features(fresh)).mean()
    assert desk.held_out.mean == pytest.approx(mean, rel=1e-12)
    for role in Role:
        assert f"{mean:.6g} nats a record, the mean of 40 records" in words(Visitor(desk, role).get("/model"))
    assert not [path for path in desk.path.parent.iterdir() if b"c-5000" in path.read_bytes()]


def test_a_file_with_semicolons_is_scored(desk):
    content = people(40, seed=9).to_csv(index=False, sep=";").encode("utf-8-sig")
    assert Visitor(desk).post("/model/held-out", _files={"file": ("held-out.csv", content)}).status_code == 303
    assert desk.held_out.n_records == 40


def test_what_was_measured_is_forgotten_when_the_model_changes(desk):
    anna = Visitor(desk)
    measure(anna, people(40, seed=9))
    desk.vault.unlearn(subject="p-7")
    assert "Not known" in words(anna.get("/model"))
    assert desk.held_out is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "choose a file"),
        (b"age,visits\n1\n", "line 2"),
        (b"height\n1\n", "none of the columns"),
        (b"age\ntall\n", "age"),
        (b"\xff\xff", "UTF-8"),
        (b"age\n", "no rows"),
    ],
)
def test_a_file_that_cannot_be_scored_is_refused_in_words(desk, content, said):
    anna = Visitor(desk)
    answer = anna.post("/model/held-out", _files={"file": ("held-out.csv", content)})
    assert answer.status_code == 422
    assert said in words(answer)
    assert desk.held_out is None


# -- no model ----------------------------------------------------------------------------------------------------------


def test_an_empty_vault_says_so(tmp_path):
    with opened(empty_vault(tmp_path)) as service:
        page = Visitor(service).get("/model")
        assert "no record to learn from" in words(page)
        assert "/fits" not in page.text


def test_an_officer_has_a_model_learned(tmp_path):
    with opened(empty_vault(tmp_path, TABLE)) as service:
        auditor, officer = Visitor(service, Role.AUDITOR), Visitor(service)
        for path in ("/model", "/model/network", "/model/pair?a=0&b=1", "/model/questions"):
            assert "An officer can have one learned" in words(auditor.get(path))
        assert auditor.post("/fits").status_code == 403
        assert 'action="/fits"' in officer.get("/model").text
        answer = officer.post("/fits")
        for _ in range(600):
            page = officer.get(answer.headers["location"])
            if 'http-equiv="refresh"' not in page.text:
                break
            time.sleep(0.05)
        assert "DONE" in words(page)
        assert 'href="/ledger/2"' in page.text
        assert "Records 90" in words(officer.get("/model"))
        assert service.ledger.entries()[2].statement.request.id.startswith("fit-")


def test_nobody_waits_for_a_model_that_is_being_learned(service, anna, monkeypatch):
    job = service.jobs.start("fit", "anna", lambda progress: time.sleep(1.0) or {"entry": 2})
    try:
        page = anna.get("/model")
        assert "A model is being learned" in words(page)
        assert f"/jobs/{job.id}" in page.text
        assert anna.post("/fits").headers["location"] == f"/jobs/{job.id}"
    finally:
        while not service.jobs.get(job.id).is_over:
            time.sleep(0.02)


# -- network -----------------------------------------------------------------------------------------------------------


def test_every_node_can_be_reached(service, anna):
    for node in service.vault.root_.walk():
        page = anna.client.get("/model/network", params={"node": node.address})
        assert page.status_code == 200
        assert '<svg class="network"' in page.text
    assert 'aria-current="location"' in page.text


def test_a_node_of_another_network_is_not_there(anna):
    for node in ("/9", "x", "", "//", "/{0-1,3}/", NASTY, "/" * 5000):
        page = anna.client.get("/model/network", params={"node": node})
        assert page.status_code == 404
        assert "<script>alert" not in page.text
    assert anna.client.get("/model/network", params={"node": "/" * 20_001}).status_code == 404


def test_leaves_tell_their_parameters(anna):
    text = words(anna.get("/model/network"))
    assert re.search(r"categorical town · records: 90 (Ulm|Bonn|Kiel|Jena): \d", text)


# -- pairs -------------------------------------------------------------------------------------------------------------


def test_pairs_of_all_kinds(service, anna):
    circuit = service.vault.circuit_
    both_numbers, mixed, turned, both_words = (
        anna.get(f"/model/pair?a={a}&b={b}") for a, b in ((AGE, VISITS), (AGE, PAYS), (PAYS, AGE), (PAYS, TOWN))
    )
    assert '<svg class="map"' in both_numbers.text
    assert f"{circuit.mutual_information('age', 'visits'):.3g}" in words(both_numbers)
    assert mixed.text.count("<figure>") == 2
    assert words(mixed).partition("age · pays")[2] == words(turned).partition("age · pays")[2]
    joint = circuit.probability({"pays": "late", "town": "Ulm"})
    assert f"{100 * joint:.1f} %" in words(both_words)
    assert '<table class="heat">' in both_words.text


def test_pairs_that_are_none(anna):
    assert "Choose two different columns" in words(anna.get("/model/pair?a=1&b=1"))
    assert "Mutual" not in words(anna.get("/model/pair"))
    assert anna.get("/model/pair?a=0&b=4").status_code == 404
    assert anna.get("/model/pair?a=0&b=x").status_code == 404


def test_a_pair_that_takes_too_long_is_refused_in_words(anna, monkeypatch):
    def refuse(*arguments):
        raise ValueError("it would take too long")

    monkeypatch.setattr("unlearnspn.service.console.model.pair_of", refuse)
    assert "it would take too long" in words(anna.get("/model/pair?a=0&b=1"))


# -- questions ---------------------------------------------------------------------------------------------------------


def conditions(kind, *lines):
    return {
        f"{kind}_{part}": [str(line[i]) for line in lines] for i, part in enumerate(("column", "operator", "value"))
    }


def ask(visitor, question, known=(), asked=(), **more):
    return visitor.post(
        "/model/questions", question=question, **conditions("known", *known), **conditions("asked", *asked), **more
    )


def test_probabilities(service, anna):
    from unlearnspn import Range

    known, asked = [(TOWN, "=", "Ulm"), (PAYS, "=", "late")], [(AGE, ">=", "50"), (AGE, "<", " 60 "), ("", "=", "")]
    text = words(ask(anna, "probability", known, asked))
    event = {"age": Range(at_least=50, below=60)}
    share = service.vault.circuit_.probability(event, given={"town": "Ulm", "pays": "late"})
    assert f"Answer {100 * share:.1f} %" in text
    assert f"Without knowing that: {100 * service.vault.circuit_.probability(event):.1f} %" in text
    assert "Given town = Ulm pays = late" in text


def test_what_was_filled_in_stays(anna):
    page = ask(anna, "probability", [(TOWN, "=", 'U"lm')], [(AGE, ">=", "50")])
    assert 'value="U&#34;lm"' in page.text
    assert '<option value=">=" selected>' in page.text.replace("&gt;", ">")
    assert "No record has this" in words(page)


def test_numbers_are_typed_as_the_language_has_them(service):
    text = words(ask(Visitor(service, language="de"), "probability", asked=[(AGE, "<", "50,5")]))
    from unlearnspn import Range

    share = service.vault.circuit_.probability({"age": Range(below=50.5)})
    assert f"Antwort {100 * share:.1f} %".replace(".", ",") in text
    english = ask(Visitor(service), "probability", asked=[(AGE, "<", "1,234")])
    assert english.status_code == 422
    assert "is no number" in words(english)


def test_expectations(service, anna):
    circuit = service.vault.circuit_
    text = words(ask(anna, "expectation", [(PAYS, "=", "late")], column=str(AGE)))
    assert f"Answer {circuit.expectation('age', given={'pays': 'late'}):.4g} is the mean of age" in text
    shares = words(ask(anna, "expectation", [(AGE, ">", "60")], column=str(PAYS)))
    assert "The probabilities of the categories of pays" in shares
    assert "late" in shares
    alone = ask(anna, "expectation", [(AGE, "=", "50")], column=str(AGE))
    assert "Answer 50 is the mean" in words(alone)


def test_samples(anna):
    page = ask(anna, "sample", [(TOWN, "=", "Kiel")], n_rows="7")
    table = page.text.partition("<tbody>")[2].partition("</tbody>")[0]
    assert table.count("<tr>") == 7
    assert table.count("<td>Kiel</td>") == 7


@pytest.mark.parametrize(
    ("question", "more"),
    [
        ("", {}),
        ("nothing", {}),
        ("probability", {}),
        ("probability", {"asked": [(9, "=", "1")]}),
        ("probability", {"asked": [("-1", "=", "1")]}),
        ("probability", {"asked": [(AGE, "~", "1")]}),
        ("probability", {"asked": [(AGE, "=", "x")]}),
        ("probability", {"asked": [(AGE, "=", "")]}),
        ("probability", {"asked": [(AGE, "=", "nan")]}),
        ("probability", {"asked": [(TOWN, ">", "Ulm")]}),
        ("probability", {"asked": [(AGE, ">", "1"), (AGE, ">", "2")]}),
        ("expectation", {"column": ""}),
        ("expectation", {"column": "4"}),
        ("expectation", {"column": "²"}),
        ("sample", {"n_rows": "0"}),
        ("sample", {"n_rows": "101"}),
        ("sample", {"n_rows": "many"}),
        ("sample", {"n_rows": "5", "known": [(AGE, ">", "1"), (AGE, "<", "0")]}),
        ("sample", {"n_rows": "5", "known": [(TOWN, "=", NASTY)]}),
    ],
)
def test_questions_that_make_no_sense_are_refused_on_the_page(anna, question, more):
    page = ask(anna, question, **more)
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert 'name="known_column"' in page.text
    assert "<script>alert" not in page.text


def test_a_question_needs_a_form_of_the_session(anna):
    assert anna.post("/model/questions", csrf="x", question="sample").status_code == 403
    assert anna.client.post("/model/questions").status_code == 403


# -- what columns hold -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:nearly every record")
def test_hostile_names_and_categories_are_escaped_everywhere(tmp_path):
    with opened(hostile_vault(tmp_path)) as service:
        anna = Visitor(service)
        columns = service.vault.circuit_.columns
        n = len(columns)
        pages = [anna.get("/model"), anna.get("/model/network"), anna.get("/model/questions")]
        pages += [anna.get(f"/model/pair?a={a}&b={b}") for a in range(n) for b in range(n)]
        pages += [ask(anna, "expectation", column=str(place)) for place in range(n)]
        pages.append(ask(anna, "probability", [(columns.index("a = b <i>"), "=", NASTY)], [(0, ">", "50")]))
        pages.append(ask(anna, "sample", n_rows="20"))
        for node in service.vault.root_.walk():
            pages.append(anna.client.get("/model/network", params={"node": node.address}))
        assert "{{7*7}}" in pages[0].text
        for page in pages:
            assert page.status_code == 200, words(page)
            for tag in ("<script>alert", "<i>", "<b>"):
                assert tag not in page.text
            assert " style=" not in page.text


@pytest.mark.filterwarnings("ignore:nearly every record")
def test_categories_that_identify_are_shown_in_samples_alone(tmp_path):
    with opened(hostile_vault(tmp_path)) as service:
        anna = Visitor(service)
        place = service.vault.circuit_.columns.index("code")
        pages = [anna.get("/model"), anna.get("/model/questions"), anna.get(f"/model/pair?a=0&b={place}")]
        pages += [anna.client.get("/model/network", params={"node": n.address}) for n in service.vault.root_.walk()]
        for page in pages:
            assert "&lt;b&gt;" not in page.text
        assert "Nearly every record has a value of its own" in words(pages[0])
        assert "Handle them like records" in words(ask(anna, "sample", n_rows="20"))


@pytest.mark.filterwarnings("ignore:nearly every record")
def test_dates_are_written_as_dates(tmp_path):
    with opened(hostile_vault(tmp_path)) as service:
        anna = Visitor(service)
        place = service.vault.circuit_.columns.index("since")
        assert re.search(r"mean 2020-0\d-\d\d", words(anna.get("/model")))
        text = words(ask(anna, "probability", asked=[(place, "<", "2020-02-15")]))
        assert re.search(r"Answer [3-6]\d\.\d %", text)
