"""The API under requests that a machine thinks up from its description: each is answered, and as is described."""

import logging
import os
from collections import Counter
from contextlib import contextmanager

import pyarrow as pa
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from services import API, GROUND, TABLE, make_vault, opened, token
from unlearnspn.parameters import Parameters
from unlearnspn.service.api.arrow import ARROW
from unlearnspn.service.app import AppOptions, create_app
from unlearnspn.service.desk_service import Person
from unlearnspn.vault import Wish

#: How many examples the deep run tries of each path, and which.
N_EXAMPLES = int(os.environ.get("UNLEARNSPN_SERVICE_EXAMPLES", "100"))
SEED = int(os.environ.get("UNLEARNSPN_SERVICE_SEED", "1"))
DESCRIPTION = f"{API}/openapi.json"
FEW = {"max-examples": 2, "database": "none"}
SETTINGS = settings(deadline=None, database=None, phases=[Phase.generate], suppress_health_check=HealthCheck)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
#: What was asked for may well be unheard of; the service does not print that.
pytestmark = [
    pytest.mark.filterwarnings("ignore::unlearnspn.errors.UnseenCategoryWarning"),
    pytest.mark.filterwarnings("ignore::unlearnspn.errors.IdentifyingColumnWarning"),
]

# -- what is known here, so that not everything is unknown -------------------------------------------------------------

COLUMNS = list(TABLE.columns)
WORDS = {
    "people": [f"p-{number}" for number in range(30)],
    "records": [f"c-{number}" for number in range(90)],
    "requests": [f"q-{number}" for number in range(18)],
    "dates": ["2026-01-31T09:30:00Z", "2024-02-29T23:59:59Z", "2026-02-30T00:00:00Z", "2999-01-01T00:00:00Z"],
    "grounds": [GROUND, "Art. 12(5)", "p-7"],
    "columns": COLUMNS[2:],
}
MEANT = {
    "body.subject": "people",
    "body.person": "people",
    "body.ids[*]": "records",
    "body.received": "dates",
    "body.until": "dates",
    "body.ground": "grounds",
    "body.columns[*]": "columns",
    "body.request_id": "requests",
    "query.request_id": "requests",
    "path.request_id": "requests",
}


def word(kind):
    return st.sampled_from(WORDS[kind])


def record(*columns):
    """Return records of the vault in which some values are other ones."""
    rows = st.sampled_from(TABLE[list(columns)].to_dict("records"))
    return st.builds(dict.__or__, rows, st.dictionaries(st.sampled_from([*columns, "unheard"]), CELL, max_size=2))


def records(*columns, **more):
    """Return bodies with records, or with something like that."""
    own = st.builds(dict.__or__, record(*columns), st.fixed_dictionaries(more))
    found = own | st.dictionaries(st.sampled_from(COLUMNS), CELL)
    return st.fixed_dictionaries({"records": st.lists(found, min_size=1, max_size=3)})


def tables(*columns):
    """Return Arrow streams, some of them damaged."""
    kinds = st.sampled_from([pa.float64(), pa.int64(), pa.string(), pa.bool_(), pa.timestamp("us")])
    fields = st.dictionaries(st.sampled_from(columns), kinds, min_size=1)
    whole = st.builds(_stream, fields, st.integers(1, 3))
    return whole | st.builds(_damaged, whole, st.integers(0, 1 << 16), st.integers(1, 255))


def _stream(fields, n_rows):
    table = pa.table({name: pa.array(range(n_rows)).cast(kind) for name, kind in fields.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _damaged(content, place, bits):
    changed = bytearray(content)
    changed[place % len(changed)] ^= bits
    return bytes(changed)


def body(optional=None, **required):
    return st.fixed_dictionaries(required, optional=optional)


def person(optional=None, **required):
    """Return bodies that name a person."""
    ids = st.lists(word("records"), min_size=1, max_size=3)
    return body(optional, subject=word("people"), **required) | body(optional, ids=ids, **required)


TEXT = st.text(st.characters(), max_size=20)
CELL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
    st.sampled_from(["Ulm", "late", "2024-02-29", "nan", "x" * 5000, 10**400, 1e308, -1e308, 5e-324, 1 << 63]),
)
BOUNDS = st.dictionaries(st.sampled_from(["at_least", "above", "at_most", "below"]), CELL | st.integers(0, 60))
EVIDENCE = st.dictionaries(word("columns"), CELL | BOUNDS | st.lists(CELL | st.just("Ulm"), max_size=3), max_size=3)
ID, REASON = word("requests"), TEXT | st.just("a reason")
FEATURES = COLUMNS[2:]
#: What is sent to each path, by names that there are; `None` is nothing.
BODIES = {
    "/removals": person(request_id=ID, ground=word("grounds")),
    "/removals/try-out": person(),
    "/access": person(),
    "/additions": records(*COLUMNS, customer=st.uuids().map(str)) | tables(*COLUMNS),
    "/corrections": records(*COLUMNS) | tables(*COLUMNS),
    "/fits": body(request_id=ID, parameters=st.dictionaries(st.sampled_from(Parameters.names()), CELL, max_size=2)),
    "/requests": person(
        {"request_id": ID, "note": TEXT, "received": word("dates")},
        wish=st.sampled_from(["erase", "access", "correct"]),
    ),
    "/requests/search": body({"person": word("people") | TEXT, "late": st.booleans()}),
    "/requests/{request_id}/verify-identity": st.none(),
    "/requests/{request_id}/extend": body(until=word("dates") | st.just("2026-12-31T00:00:00Z"), reason=REASON),
    "/requests/{request_id}/deny": body(ground=word("grounds"), reason=REASON),
    "/requests/{request_id}/withdraw": st.none(),
    "/requests/{request_id}/notes": body(text=TEXT),
    "/requests/{request_id}/try-out": st.none(),
    "/requests/{request_id}/erase": body(ground=word("grounds")),
    "/requests/{request_id}/access": st.none(),
    "/requests/{request_id}/correct": records("customer", "age", "town"),
    "/holds": body(subject=word("people"), reason=REASON),
    "/holds/lift": body(subject=word("people")),
    "/model/score": records(*FEATURES) | tables(*FEATURES),
    "/model/impute": records(*FEATURES) | tables(*FEATURES),
    "/model/probability": body(event=EVIDENCE, given=EVIDENCE),
    "/model/expectation": body(columns=st.lists(word("columns"), min_size=1, max_size=2), given=EVIDENCE),
    "/model/sample": body({"n": st.integers(1, 20)}, given=EVIDENCE),
}
ASKED = st.sampled_from(sorted(BODIES)).flatmap(lambda path: st.tuples(st.just(path), BODIES[path], ID, st.booleans()))
schemathesis.openapi.media_type(ARROW, st.binary(max_size=100) | tables(*COLUMNS))


# -- the run -----------------------------------------------------------------------------------------------------------


@contextmanager
def watched(folder, caplog):
    """Open a service of a vault of its own; nothing may go wrong in it that nobody expected."""
    folder.mkdir()
    with opened(make_vault(folder)) as service:
        yield service
        assert service.vault.verify()
        assert not [job for job in service.jobs.all() if "something went wrong" in (job.error or "")]
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def described(service, bearer, **more):
    """Return the API as schemathesis knows it: what it sends, and what answers must be."""
    app = create_app(service, AppOptions(hosts=("testserver",)))
    config = {
        "headers": {"Authorization": f"Bearer {bearer}"},
        "dictionaries": {name: {"values": values} for name, values in WORDS.items()},
        "parameters": {name: {"dictionary": words, "probability": 0.6} for name, words in MEANT.items()},
        # What is asked for in the right form may be impossible all the same.
        "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", 401, 403, 404, 409, 422]}},
        # Whoever looks at that path asks for a request of this name.
        "operations": [
            {"include-path": f"{API}/requests/search", "checks": {"allow_header_conformance": {"enabled": False}}}
        ],
    }
    return schemathesis.openapi.from_asgi(DESCRIPTION, app, config=SchemathesisConfig.from_dict(config | more))


class Run:
    """What was asked and answered, and what was wrong with that."""

    def __init__(self, schema):
        self.answers, self.wrong = Counter(), {}
        for event in from_schema(schema).execute():
            if isinstance(event, events.NonFatalError | events.FatalError):
                raise AssertionError(event)
            if isinstance(event, events.ScenarioFinished):
                self._note(event.recorder)

    def _note(self, recorder):
        for name, interaction in recorder.interactions.items():
            case = recorder.cases[name].value
            self.answers[case.operation.label, interaction.response.status_code] += 1
        for name, checks in recorder.checks.items():
            for check in checks:
                if check.failure_info is not None:
                    failure = check.failure_info.failure
                    asked = recorder.cases[name].value.as_curl_command()
                    self.wrong.setdefault((recorder.label, type(failure).__name__), f"{failure}\n{asked}")

    def require_right(self):
        assert not self.wrong, "\n\n".join(f"{where}: {what}" for where, what in self.wrong.items())


def operations(schema):
    return {result.ok().label for result in schema.get_all_operations()}


def run(service, n_examples, number, **more):
    """Have schemathesis ask; return how often there was which answer."""
    generation = {"max-examples": n_examples, "database": "none"}
    schema = described(service, token(service), seed=number, generation=generation, **more)
    done = Run(schema)
    done.require_right()
    assert {label for label, _ in done.answers} == operations(schema)
    return done.answers


def file_some(service):
    """File requests that can be carried out; those to correct are about everybody."""
    for name, wish, subject in zip(WORDS["requests"][:12], [*Wish] * 4, WORDS["people"], strict=False):
        person = Person(None, tuple(WORDS["records"])) if wish is Wish.CORRECT else Person(subject)
        service.file(wish, person, who="anna", request_id=name)
        service.verify_identity(name, who="anna")


def ask(service, n_examples, number):
    """Ask for what there is; return how often there was which answer."""
    file_some(service)
    answers, bearer = Counter(), {"Authorization": f"Bearer {token(service)}"}
    schema = described(service, "")

    @seed(number)
    @settings(SETTINGS, max_examples=n_examples)
    @given(ASKED)
    def ask_once(asked):
        path, sent, request_id, wants_arrow = asked
        kind = ARROW if isinstance(sent, bytes) else "application/json"
        places = {"path_parameters": {"request_id": request_id}} if "{" in path else {}
        if path in ("/additions", "/corrections"):
            places["query"] = {"request_id": f"k-{request_id}"}
        content = {} if sent is None else {"body": sent, "media_type": kind}
        case = schema[f"{API}{path}"]["POST"].Case(**places, **content)
        response = case.call(headers=bearer | ({"accept": ARROW} if wants_arrow else {}))
        case.validate_response(response, checks=CHECKS)
        answers[path, response.status_code] += 1

    ask_once()
    return answers


def told(answers):
    """Return how many answers there were, and how many of each status."""
    statuses = Counter()
    for (_, status), number in answers.items():
        statuses[status] += number
    return f"{answers.total()} answers: {dict(sorted(statuses.items()))}"


# -- tests -------------------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_every_answer_is_as_the_description_says(tmp_path, caplog):
    with watched(tmp_path / "vault", caplog) as service:
        run(service, 1, 0, phases={"coverage": {"unexpected-methods": ["OPTIONS"]}})


def test_every_answer_about_what_there_is_is_as_the_description_says(tmp_path, caplog):
    with watched(tmp_path / "vault", caplog) as service:
        answers = ask(service, 200, 0)
    assert {200, 201, 202, 204, 404, 409, 422} <= {status for _, status in answers}


def test_whoever_has_a_wrong_token_is_told_nothing(tmp_path, caplog):
    with watched(tmp_path / "vault", caplog) as service:
        schema = described(service, "uspn_wrong", phases={"coverage": {"enabled": False}}, seed=0, generation=FEW)
        done = Run(schema)
        done.require_right()
    refused = {label for label, status in done.answers if status == 401}
    assert refused == operations(schema) - {f"GET {API}/health"}
    assert {label for label, status in done.answers if status < 400} == {f"GET {API}/health"}


@pytest.mark.service_fuzz
def test_every_one_of_many_answers_is_as_the_description_says(tmp_path, caplog):
    with watched(tmp_path / "vault", caplog) as service:
        print(told(run(service, N_EXAMPLES, SEED)))


@pytest.mark.service_fuzz
def test_every_one_of_many_answers_about_what_there_is_is_as_the_description_says(tmp_path, caplog):
    answers = Counter()
    for place in range(N_EXAMPLES // 5):
        with watched(tmp_path / str(place), caplog) as service:
            answers += ask(service, 300, 1000 * SEED + place)
    print(told(answers))
    assert {path for path, status in answers if status < 300} == set(BODIES)
