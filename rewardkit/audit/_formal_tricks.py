"""Proofs that must not be paid, from the self-tests of the verifiers of proofs."""

from rewardkit.audit._task_tricks import Trick
from rewardkit.verifiers.formal.selftest import read_suite

__all__ = ["formal_tricks"]

_BROKEN = "broken_proof_passes: a proof with an error passes (its messages are not looked at)"
_HOLE = "hole_passes: a proof with a hole passes (sorry, Admitted, a body left out)"
_SILENT = "silent_hole_passes: a hole that gives no warning passes (only the axioms show it)"
_AXIOM = "axiom_passes: a proof from an axiom of its own passes"
_TRUSTED = "compiler_trusted: a proof that trusts the compiler passes, which can be told lies"
_KERNEL = "kernel_skipped: an option or attribute that switches checking off is allowed"
_CHANGED = "statement_changed: another statement under the name of the asked one passes"
_MEANING = (
    "meaning_changed: symbols or definitions of the statement mean something else, and it passes"
)
_ADDED = "hypothesis_added: a false hypothesis around the statement goes unseen"
_MISSING = "target_missing: a file in which the asked statement is not proved passes"
_SPOOFED = "verdict_spoofed: what the file prints or redefines is taken for the checker's word"
_RUNS = "runs_code: code of the submission runs inside the checker"

_CAUSES: dict[str, dict[str, str]] = {
    "lean": {
        "error_recovery": _BROKEN, "self_reference": _BROKEN, "partial_function": _BROKEN,
        "sorry": _HOLE, "sorry_in_helper": _HOLE, "silent_sorry": _SILENT, "redefined_rfl": _SILENT,
        "decidable_by_sorry": _SILENT, "own_axiom": _AXIOM, "private_axiom": _AXIOM,
        "target_is_axiom": _AXIOM, "spoofed_native_axiom": _AXIOM, "native_decide": _TRUSTED,
        "implemented_by": _TRUSTED, "skip_kernel": _KERNEL, "skip_kernel_quoted": _KERNEL,
        "skip_kernel_by_macro": _KERNEL, "comment_token": _KERNEL, "easier_statement": _CHANGED,
        "local_instance": _MEANING, "local_operator": _MEANING, "redefined_equality": _MEANING,
        "notation_for_type": _MEANING, "edited_definition": _MEANING, "edited_inductive": _MEANING,
        "section_hypothesis": _ADDED, "exit_first": _MISSING, "target_in_comment": _MISSING,
        "target_in_namespace": _MISSING, "hijacked_audit": _SPOOFED, "fake_audit_line": _SPOOFED,
        "run_command": _RUNS, "evaluated": _RUNS, "statement_quoted": _CHANGED,
        "command_macro": _CHANGED, "numeral_macro": _MEANING, "scoped_instance": _MEANING,
        "namespace_shadow": _MEANING, "exported_shadow": _MEANING, "opaque_opened": _MEANING,
        "class_with_law": _MEANING, "axiom_instance": _AXIOM, "import_by_path": _BROKEN,
    },
    "dafny": {
        "wrong_body": _BROKEN, "diverges": _BROKEN, "no_body": _HOLE, "assume": _AXIOM,
        "axiom_lemma": _AXIOM, "extern": _AXIOM, "verify_false": _KERNEL, "dropped_ensures": _CHANGED,
        "added_requires": _ADDED, "absent": _MISSING, "in_module": _MISSING,
        "assume_in_calc": _AXIOM, "forall_no_body": _AXIOM, "abstract_module": _AXIOM,
        "expect": _AXIOM, "module_verify_false": _KERNEL, "attribute_behind_comment": _KERNEL,
        "shadowed_type": _MEANING,
    },
    "rocq": {
        "admitted": _HOLE, "axiom": _AXIOM, "parameter": _AXIOM, "unguarded": _KERNEL,
        "easier": _CHANGED, "notation": _MEANING, "edited_definition": _MEANING, "section": _ADDED,
        "module": _MISSING, "in_comment": _MISSING, "edited_let": _MEANING,
        "edited_instance": _MEANING, "edited_in_module": _MEANING, "bound_like_constant": _MEANING,
    },
}  # fmt: skip
"""By system and attack of its suite, the fault that pays it."""

_PROPERTIES = {
    _BROKEN: "crash_is_no_match", _HOLE: "no_holes", _SILENT: "no_holes", _AXIOM: "no_axioms",
    _TRUSTED: "no_axioms", _KERNEL: "no_axioms", _CHANGED: "statement_kept",
    _MEANING: "statement_kept", _ADDED: "statement_kept", _MISSING: "statement_kept",
    _SPOOFED: "verdict_channel", _RUNS: "verdict_channel",
}  # fmt: skip

_EXPLAINED: dict[str, tuple[str, ...]] = {
    _SILENT: ("hole_passes", "broken_proof_passes"),
    _HOLE: ("broken_proof_passes",),
    _SPOOFED: ("hole_passes", "silent_hole_passes", "broken_proof_passes"),
    _MISSING: ("broken_proof_passes", "statement_changed"),
    _RUNS: ("broken_proof_passes",),
    _KERNEL: ("broken_proof_passes",),
    _AXIOM: ("broken_proof_passes",),
    _TRUSTED: ("broken_proof_passes", "axiom_passes"),
    _MEANING: ("broken_proof_passes", "statement_changed"),
    _ADDED: ("broken_proof_passes",),
    _CHANGED: ("broken_proof_passes",),
}
"""By fault, the faults that pay the same proofs."""

_MORE: dict[str, tuple[tuple[str, str, str], ...]] = {
    "lean": (
        ("type error", _BROKEN, "theorem p_swap (p q : Prop) : p ∧ q → q ∧ p := fun h => ⟨h.1, h.2⟩"),
        ("only a comment", _MISSING, "-- theorem p_swap (p q : Prop) : p ∧ q → q ∧ p := by simp"),
        ("True under the name", _CHANGED, "theorem p_swap : True := trivial"),
        ("statement in a comment, then True", _CHANGED,
         "/- theorem p_swap (p q : Prop) : p ∧ q → q ∧ p := by -/\ntheorem p_swap (p q : Prop) : True := trivial"),
        ("declared twice", _MISSING,
         "namespace A\ntheorem p_swap (p q : Prop) : p ∧ q → q ∧ p := fun h => ⟨h.2, h.1⟩\nend A\ntheorem p_swap : True := trivial"),
        ("a false premise", _ADDED, "theorem p_swap (p q : Prop) (h : False) : p ∧ q → q ∧ p := h.elim"),
    ),
    "dafny": (),
    "rocq": (
        ("an error", _BROKEN, "Theorem plus_comm_two : forall n : nat, n + 2 = 2 + n.\nProof. reflexivity. Qed."),
        ("only a comment", _MISSING, "(* Theorem plus_comm_two : forall n : nat, n + 2 = 2 + n. *)"),
        ("True under the name", _CHANGED, "Theorem plus_comm_two : True.\nProof. exact I. Qed."),
    ),
}  # fmt: skip
"""Further proofs of the task's own statement."""


def formal_tricks(system: str) -> tuple[Trick, ...]:
    """Returns the proofs that a checker of `lean`, `dafny` or `rocq` must refuse, grossest first."""
    rows = {row["name"]: row for row in read_suite(system) if row["kind"] == "attack"}
    causes = _CAUSES[system]
    order = list(_PROPERTIES)
    tricks = [
        Trick(name, cause, _PROPERTIES[cause], program, covered_by=_EXPLAINED.get(cause, ()))
        for name, cause, program in _MORE[system]
    ]
    tricks += [
        Trick(
            name,
            causes[name],
            _PROPERTIES[causes[name]],
            row["submission"],
            covered_by=_EXPLAINED.get(causes[name], ()),
            statement=row["statement"],
        )
        for name, row in rows.items()
    ]
    return tuple(sorted(tricks, key=lambda trick: order.index(trick.cause)))
