"""SPARQL is graded by its answers, and short answers by SQuAD's rules."""

from collections.abc import Iterator

import pytest

from rewardkit import QaVerifier
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verifiers.kb import KbVerifier
from rewardkit.verifiers.kb.answers import exact_match, set_f1, token_f1
from tests._needs import needs

needs("rdflib")

GRAPH = """
@prefix : <http://x/> .
:oslo a :City ; :in :norway ; :people 700000 . :bergen a :City ; :in :norway ; :people 290000 .
:riga a :City ; :in :latvia ; :people 600000 . :norway :name "Norway"@en .
"""
REFERENCE = {"graph": GRAPH, "sparql": "PREFIX : <http://x/> SELECT ?c { ?c :in :norway }"}
P = "PREFIX : <http://x/> "


@pytest.fixture(scope="module")
def verifier() -> Iterator[KbVerifier]:
    with KbVerifier(workers=1, timeout_s=30.0) as made:
        yield made


@pytest.mark.parametrize(
    ("query", "score", "reason"),
    [
        (P + "SELECT ?x WHERE { ?x a :City . ?x :in ?y . ?y :name 'Norway'@en }", 1.0, "match"),
        ("```sparql\n" + P + "SELECT ?c { ?c :in :norway } ORDER BY ?c\n```", 1.0, "match"),
        # Three answers, two of them right, of two: 2 * 2 / (3 + 2)
        (P + "SELECT ?c { ?c a :City }", 0.8, "partial"),
        (P + "SELECT ?c { ?c :in :latvia }", 0.0, "mismatch"),
        (P + "ASK { :oslo :in :norway }", 0.0, "mismatch"),
        (P + "SELECT ?c { ?c :in ", 0.0, "unparsable"),
        ("I do not know", 0.0, "unparsable"),
        (P + "DELETE WHERE { ?s ?p ?o }", 0.0, "unparsable"),
        (P + "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", 0.0, "forbidden"),
        (P + "SELECT ?c { SERVICE <http://127.0.0.1:9/> { ?c :in :norway } }", 0.0, "forbidden"),
        (P + "SELECT ?c FROM <http://127.0.0.1:9/> { ?c :in :norway }", 0.0, "forbidden"),
        ("", 0.0, "no_answer"),
        ("SELECT " + "(" * 5000, 0.0, "unparsable"),
    ],
)
def test_queries_are_graded_by_their_answers(verifier, query, score, reason):
    verdict = verifier.verify(query, REFERENCE)
    assert (verdict.score, verdict.reason.value) == (pytest.approx(score), reason), verdict


def test_names_that_the_graph_does_not_know_are_counted(verifier):
    verdict = verifier.verify(P + "SELECT ?c { ?c :locatedIn :norway }", REFERENCE)
    assert verdict.parts["schema"] == 0.5
    assert verdict.evidence["schema_exists"] is False


def test_a_bomb_is_killed_and_the_next_query_is_graded():
    graph = "@prefix : <http://x/> . " + " ".join(f":a{i} :p :b{i} ." for i in range(60))
    reference = {"graph": graph, "sparql": P + "SELECT ?s { ?s :p :b1 }"}
    bomb = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n2 ?o }"
    with KbVerifier(workers=1, timeout_s=3.0) as verifier:
        assert verifier.verify(P + "SELECT ?s { ?s :p :b1 }", reference).passed
        verdict = verifier.verify(bomb, reference)
        assert (verdict.score, verdict.reason.value) == (0.0, "timeout")
        assert verifier.verify(P + "SELECT ?s { ?s :p :b1 }", reference).passed


def test_given_answers_are_compared_as_plain_terms(verifier):
    given = {"graph": GRAPH, "answers": ["http://x/oslo", "http://x/bergen"]}
    assert verifier.verify(P + "SELECT ?c { ?c :in :norway }", given).passed
    names = {"graph": GRAPH, "answers": ["Norway"]}
    assert verifier.verify(P + "SELECT ?n { ?c :name ?n }", names).passed


def test_references_are_checked(verifier, tmp_path):
    assert verifier.check_reference(REFERENCE) == []
    empty = {"graph": GRAPH, "sparql": P + "SELECT ?c { ?c :in :peru }"}
    assert "no answers" in verifier.check_reference(empty)[0]
    with pytest.raises(InvalidReferenceError, match="does not run"):
        verifier.check_reference({"graph": GRAPH, "sparql": "SELECT nope"})
    assert verifier.verify("ASK {}", {"graph": "x y", "sparql": "ASK {}"}).score is None
    file = tmp_path / "g.ttl"
    file.write_text(GRAPH)
    assert verifier.check_reference({"file": str(file), "sparql": REFERENCE["sparql"]}) == []
    for bad in ("x", {}, {"graph": GRAPH}, {"file": "/no/file", "sparql": "ASK {}"}):
        with pytest.raises(InvalidReferenceError):
            verifier.verify("ASK {}", bad)


@pytest.mark.parametrize(
    ("answer", "reference", "em", "f1"),
    [
        ("The Beatles", "beatles!", 1, 1),
        ("John Lennon", "Lennon", 0, 2 / 3),
        ("a b b", "b b c", 0, 0.8),
        ("", "", 1, 1),
        ("the", "x", 0, 0),
    ],
)
def test_squad_rules(answer, reference, em, f1):
    assert exact_match(answer, reference) == em
    assert token_f1(answer, reference) == pytest.approx(f1)


def test_sets_of_answers():
    assert set_f1([], []) == 1
    assert set_f1(["a"], []) == 0
    assert set_f1(["a", "b", "b"], ["b", "c"]) == 0.5


def test_the_best_of_several_references_counts():
    verifier = QaVerifier(metric="f1")
    verdict = verifier.verify("Reasons.\nAnswer: **New York City**", ["NYC", "New York"])
    assert verdict.score == pytest.approx(0.8)
    assert QaVerifier().verify("<think>x</think>Oslo", "Oslo").passed
    assert QaVerifier().verify("<think>Oslo", "Oslo").reason.value == "truncated"
    assert QaVerifier().verify("x" * 5000, "x").reason.value == "size_limit"
    for text in (None, "", [{}]):
        assert QaVerifier().verify(text, "x").score == 0


def test_mistakes_of_the_caller():
    with pytest.raises(ConfigError):
        QaVerifier(metric="bleu")
    with pytest.raises(ConfigError):
        KbVerifier(timeout_s=0)
    for bad in ([], "x" and [""], 3, [1]):
        with pytest.raises(InvalidReferenceError):
            QaVerifier().check_reference(bad)
