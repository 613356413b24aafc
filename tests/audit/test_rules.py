"""Probes that pay are grouped: one fault, one cause."""

import pytest

from rewardkit.audit.probes import PROBES
from rewardkit.audit.rules import RULES, explain

MENTIONS = {probe.name: probe.mentions for probe in PROBES}


def causes(*paying):
    return [cause.rule.cause.partition(":")[0] for cause in explain(paying, MENTIONS)]


def test_a_substring_match_explains_every_text_that_mentions_the_reference():
    mentioning = [name for name, mentions in MENTIONS.items() if mentions]
    assert causes(*mentioning) == ["substring"]


def test_a_reference_that_is_ignored_explains_everything():
    assert causes(*MENTIONS) == ["reference_ignored"]


def test_two_faults_are_two_causes():
    assert causes("opposite sign", "only in the prompt") == ["prompt_graded", "sign_ignored"]


def test_nothing_paid_is_no_cause():
    assert causes() == []


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_every_probe_that_pays_alone_has_a_cause(probe):
    assert len(causes(probe.name)) == 1


def test_rules_name_probes_that_exist():
    for rule in RULES:
        assert set(rule.trigger) <= set(MENTIONS), rule
