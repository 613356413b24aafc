import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.verifiers.formal import (
    HINTS,
    SKELETONS,
    distinct_heads,
    first_tactic,
    opening_entropy,
    respects_prefix,
    skeleton_schedule,
)


def test_the_schedule_is_the_grid_of_the_paper():
    schedule = skeleton_schedule(240)
    assert (len(SKELETONS), len(HINTS)) == (15, 8)
    assert [a.skeleton for a in schedule[:15]] == list(SKELETONS)
    assert all(a.hint == "" for a in schedule[:15])
    assert len(set(schedule[:120])) == 120
    assert schedule[120:] == schedule[:120]
    for i, attempt in enumerate(schedule):
        assert (attempt.skeleton, attempt.hint) == (SKELETONS[i % 15], HINTS[i // 15 % 8])


def test_a_schedule_without_skeletons_is_refused():
    with pytest.raises(ConfigError, match="skeleton"):
        skeleton_schedule(3, [])


@pytest.mark.parametrize("skeleton", [s for s in SKELETONS if s])
def test_a_proof_that_begins_with_its_skeleton_respects_it(skeleton):
    assert respects_prefix(f"theorem t : a = b := by\n  {skeleton}\n  done", skeleton)
    assert not respects_prefix(f"theorem t : a = b := by\n  done\n  {skeleton}", skeleton)


@pytest.mark.parametrize(
    ("proof", "head"),
    [
        ("by\n  nlinarith [sq_nonneg x]", "nlinarith"),
        ("theorem t (n : Nat) (h : n = by exact 2) : n = 2 := by omega", "omega"),
        ("theorem t : a := foo b", "term"),
        (":= by\n  -- simp\n  · rw [h]", "rw"),
        ("intro x; simp", "intro"),
        ("", ""),
    ],
)
def test_the_first_tactic_is_found(proof, head):
    assert first_tactic(proof) == head


@given(st.lists(st.sampled_from(["simp", "ring", "omega", "intro h"]), max_size=12))
def test_entropy_is_that_of_the_heads(tactics):
    proofs = [f"by\n  {tactic}" for tactic in tactics]
    counts = Counter(t.split()[0] for t in tactics)
    n = len(tactics)
    expected = sum(c / n * math.log(n / c) for c in counts.values()) if n else 0.0
    assert opening_entropy(proofs) == pytest.approx(expected)
    assert distinct_heads(proofs) == len(counts)
    assert opening_entropy(proofs) <= math.log(n) + 1e-12 if n else True
