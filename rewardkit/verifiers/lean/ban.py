"""Constructs that can get round a Lean check, found in the text before anything runs.

Without a kernel replay, these prove what is false and leave no trace in the axioms, or run code of
the submission inside the checker.
"""

import re

from rewardkit.verifiers.formal.scan import Code

__all__ = ["find_banned", "library_tactics"]

_WORD = re.compile(r"#?[^\s()\[\]{},;:|`\"⟨⟩@$%&*+/<=>~^‹›←→↦⟦⟧]+")
_COMMANDS = (
    *("elab", "elab_rules", "by_elab", "initialize", "builtin_initialize", "unsafe", "include_str"),
    *("simproc", "dsimproc", "simproc_decl", "dsimproc_decl", "builtin_simproc"),
    *("builtin_dsimproc", "declare_config_elab", "declare_command_config_elab"),
    *("builtin_simproc_decl", "builtin_dsimproc_decl", "run_cmd", "run_elab", "run_meta"),
    *("run_tac", "#eval", "#eval!", "#widget", "#html", "#guard_msgs_in", "deriving_handler"),
    *("eval%", "unsafeCast", "unsafeIO", "unsafeEIO", "lcProof", "lcUnreachable", "lcCast"),
    *("ofReduceBool", "ofReduceNat", "trustCompiler", "implemented_by", "implementedBy"),
    *("extern", "csimp", "command_elab", "term_elab", "run_cmd!", "simprocs", "meta"),
)
_ATTRIBUTES = re.compile(
    r"@\[([^\]]*)\]|\battribute\s*\[([^\]]*)\]",
)
_BAD_ATTRIBUTES = re.compile(
    r"\b(?:tactic|macro|command_elab|term_elab|export|init|simproc|sevalproc|app_elab|delab|"
    r"app_delab|app_unexpander|formatter|parenthesizer|norm_num|positivity|builtin_\w+|widget_module"
    r"|code_action_provider|command_code_action|server_rpc_method|env_linter|run_builtin_parser\w*|"
    r"\w*_parser|\w*_elab|\w*_extension|aesop_rule_builder|deriving_handler|category_\w+|"
    r"combinator_\w+|computed_fields|inherit_init)\b"
)
_PREFIXES = ("debug.", "register_", "compiler.", "bootstrap.", "interpreter.")
_OPTION = re.compile(r"\bset_option\s+(\S+)")
_BAD_OPTIONS = ("debug", "compiler", "bootstrap", "interpreter", "experimental", "Elab.async")
_SYNTAX = re.compile(
    r"\b(macro|macro_rules|syntax|notation|notation3|infix[lr]?|prefix|postfix|mixfix|"
    r"declare_syntax_cat|binder_predicate)\b"
)
_MACRO = re.compile(r"\b(macro|macro_rules|syntax|declare_syntax_cat|binder_predicate)\b")
_ARROW = re.compile(r"=>\s*(\S{1,3})")
_COMMAND = re.compile(
    r"^(?:theorem|lemma|def|example|instance|abbrev|inductive|structure|class|axiom|variable|open|"
    r"namespace|section|end|set_option|attribute|@\[|#|macro|syntax|notation|local|scoped|private|"
    r"protected|noncomputable|universe|include|omit|export|infix|prefix|postfix|opaque|deriving)",
    re.MULTILINE,
)
_COMPUTED = re.compile(
    r"\$\(|\$\[|\b(?:mkIdent|mkIdentFrom|Syntax|TSyntax|MacroM|Name|mkNode|Unhygienic|do)\b"
)
_COMMENT_MARK = re.compile(r'--|/-|-/|"')
_LIBRARY = re.compile(
    r"(?<![\w.'])(omega|split|grind|bv_decide|bv_omega|bv_check|simp_arith|norm_num|ring|ring_nf"
    r"|linarith|nlinarith|polyrith|positivity|field_simp|aesop|tauto|push_neg|norm_cast|push_cast|ac_rfl|"
    r"ac_nf|decreasing_tactic|interval_cases|fin_cases|gcongr|exact\?|apply\?|rw\?|simp\?|ext|"
    r"rename|nofun|nomatch|split_ifs|conv|congr|iterate|repeat'|exact_mod_cast|apply_mod_cast|cutsat"
    r"|lia|use|refine'|symm|trans|simpa|constructorm|by_contra|contrapose|choose|cc|decide\s*\+native"
    r")(?![\w'])"
)


def find_banned(code: Code) -> str:
    """Returns the first banned construct of a submission, or an empty string.

    Args:
        code: the submission, comments and strings told apart.
    """
    if not code.closed:
        return ""  # the checker says that it cannot be read
    bare = code.bare.replace("«", "").replace("»", "")
    for word in _WORD.findall(bare):
        last = word.rpartition(".")[2]
        if word in _COMMANDS or last in _COMMANDS:
            return str(word)
        if word.startswith(_PREFIXES) or any(f".{prefix}" in word for prefix in _PREFIXES[:1]):
            return str(word)
    for option in _OPTION.findall(bare):
        if option.split(".")[0] in _BAD_OPTIONS or option in _BAD_OPTIONS:
            return f"set_option {option}"
    for first, second in _ATTRIBUTES.findall(bare):
        bad = _BAD_ATTRIBUTES.search(first or second)
        if bad:
            return f"@[{bad[0]}]"
    return _bad_macro(bare, code)


def _bad_macro(bare: str, code: Code) -> str:
    """A macro may be a template. One that computes can spell what no scan sees."""
    if _SYNTAX.search(bare) is None:
        return ""
    if any(_COMMENT_MARK.search(text) for text in code.strings):
        return "a notation with comment marks"
    for found in _MACRO.finditer(bare):
        following = _COMMAND.search(bare, found.end())
        body = bare[found.start() : following.start() if following else len(bare)]
        computed = _COMPUTED.search(body)
        if computed:
            return f"a computed macro ({computed[0]})"
        if any(not arrow.startswith("`(") for arrow in _ARROW.findall(_outside_quotations(body))):
            return "a computed macro"
    return ""


def _outside_quotations(body: str) -> str:
    """Returns a macro with the insides of its quotations blank: what they hold is not run."""
    kept, at = [], 0
    while (start := body.find("`(", at)) >= 0:
        kept.append(body[at : start + 2])
        at, depth = start + 2, 1
        while at < len(body) and depth:
            depth += (body[at] == "(") - (body[at] == ")")
            at += 1
    return "".join([*kept, body[at:]])


def library_tactics(code: Code) -> list[str]:
    """Returns the tactics of a submission that need Lean's own library or Mathlib."""
    return sorted({match.replace(" ", "") for match in _LIBRARY.findall(code.bare)})
