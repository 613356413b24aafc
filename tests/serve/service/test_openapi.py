"""Requests made from the service's own description find no answer that it does not describe."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests._needs import needs
from tests.serve.service.process import TOKEN, Service, running

needs("starlette")
schemathesis = needs("schemathesis")

from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

PATHS = [
    ("/verify", "POST"),
    ("/reward", "POST"),
    ("/openrlhf", "POST"),
    ("/nemo-gym/verify", "POST"),
    ("/ready", "GET"),
    ("/metrics", "GET"),
]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(token=TOKEN, timeout_s=5.0) as service:
        yield service


def document(service):
    status, _, told = service.ask("/openapi.json")
    assert status == 200
    return told


def test_the_description_is_openapi(service):
    told = document(service)
    assert told["openapi"].startswith("3.1")
    assert set(told["paths"]) == {path for path, _ in PATHS} | {"/health", "/openapi.json"}
    assert told["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


@pytest.mark.parametrize(
    ("path", "method", "mode"),
    [
        (path, method, mode)
        for path, method in PATHS
        for mode in (["POSITIVE", "NEGATIVE"] if method == "POST" else ["POSITIVE"])
    ],
)
def test_answers_are_as_described(service, path, method, mode):
    schema = schemathesis.openapi.from_dict(document(service))
    operation = schema[path][method]
    strategy = operation.as_strategy(
        generation_mode=schemathesis.GenerationMode[mode], headers={"Authorization": "Bearer x"}
    )
    phases = [Phase.explicit, Phase.generate]

    @given(case=strategy)
    @settings(
        max_examples=15,
        deadline=None,
        phases=phases,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def check(case: "schemathesis.Case") -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        response = case.call(base_url=service.url, headers=headers)
        assert response.status_code < 500 or response.status_code == 503
        # That lists are of one length is nothing that a schema can say.
        excluded = [positive_data_acceptance]
        case.validate_response(response, headers=headers, excluded_checks=excluded)

    check()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)
fields = st.sampled_from(
    "completion completions reference references columns context verifier verdicts timeout_s query"
    " prompts labels response verifier_metadata".split()
)


@pytest.mark.parametrize("path", [path for path, method in PATHS if method == "POST"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=st.dictionaries(fields, json_values, max_size=5))
def test_any_object_gets_an_answer_and_never_a_failure(service, path, body):
    assert service.ask(path, body)[0] in (200, 400, 413, 422)
