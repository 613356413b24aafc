"""A verifier is made from a name and options in text."""

import importlib.util
import subprocess
import sys

import pytest

from rewardkit import Verifier
from rewardkit.errors import ConfigError
from rewardkit.verifiers.catalog import (
    VERIFIERS,
    effective_options,
    list_options,
    make_verifier,
    parse_options,
    verifier_class,
)
from tests.verifiers.many_options import Colour

EXACT = "tests.scoring.exact:ExactVerifier"
MANY = "tests.verifiers.many_options:ManyOptions"


@pytest.mark.parametrize("name", sorted(VERIFIERS))
def test_every_listed_verifier_exists_and_keeps_the_protocol(name):
    module, _, class_name = VERIFIERS[name].partition(":")
    assert importlib.util.find_spec(module) is not None
    assert verifier_class(name).__name__ == class_name
    with make_verifier(name) as verifier:
        assert isinstance(verifier, Verifier)
        assert verifier.name == name


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("count=3", 3),
        ("rate=1e-3", 0.001),
        ("fast=true", True),
        ("fast=off", False),
        ("mode=lenient", "lenient"),
        ("level=2", 2),
        ("text=a=b", "a=b"),
        ("text=", ""),
        ("limit=none", None),
        ("limit=7", 7),
        ("either=8", 8),
        ("either=x", "x"),
        ("colour=blue", Colour.BLUE),
        ("names=a, b", ("a", "b")),
        ('names=["a,b"]', ["a,b"]),
        ("numbers=1,2", (1, 2)),
        ("tags=a,b", frozenset({"a", "b"})),
        ('table={"a": 1}', {"a": 1}),
    ],
)
def test_an_option_is_read_as_its_constructor_annotates_it(text, value):
    key = text.partition("=")[0]
    assert parse_options(MANY, [text]) == {key: value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count=x", "option count is int, not 'x'"),
        ("count=1.5", "option count is int"),
        ("fast=maybe", "option fast is bool"),
        ("mode=hard", "option mode is strict | lenient, not 'hard'"),
        ("level=3", "option level is 1 | 2"),
        ("limit=x", "option limit is int | none"),
        ("colour=green", "option colour is red | blue"),
        ("numbers=1,x", "option numbers"),
        ("table=x", "option table"),
        ("nope=1", "has no option 'nope'. Its options: count: int (required); rate: float = 0.5"),
        ("count", "not of the form key=value"),
    ],
)
def test_a_wrong_option_says_what_is_right(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_options(MANY, [text])
    assert message in str(caught.value)


def test_dashes_in_option_names_are_underscores():
    assert parse_options(EXACT, ["fold-case=true"]) == {"fold_case": True}


def test_an_option_that_is_needed_is_named():
    with pytest.raises(ConfigError, match="needs the option 'count'"):
        make_verifier(MANY)
    assert make_verifier(MANY, count=2).count == 2


def test_a_value_outside_its_range_is_the_verifiers_own_error():
    with pytest.raises(ConfigError, match="delay_s is at least 0"):
        make_verifier(EXACT, delay_s=-1.0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("maths", r"no verifier 'maths' \(did you mean math\?\). There are: .*math"),
        ("no_such_module:X", "no module 'no_such_module'. Is its folder in PYTHONPATH?"),
        ("tests.scoring.exact:Nope", "has no class Nope"),
        ("tests.scoring.exact:time", "has no class time"),
        ("pathlib:Path", "is not a verifier"),
    ],
)
def test_an_unknown_verifier_says_which_there_are(name, message):
    with pytest.raises(ConfigError, match=message):
        make_verifier(name)


def test_a_broken_module_shows_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_verifier.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        verifier_class("broken_verifier:X")


def test_equal_effective_options_mean_equal_verifiers():
    assert effective_options(EXACT, {}) == effective_options(
        EXACT, {"fold_case": False, "delay_s": 0.0, "kill_at": None}
    )
    given = {"count": 1, "colour": Colour.BLUE, "tags": frozenset({"b", "a"}), "numbers": (1, 2)}
    assert effective_options(MANY, given) == {
        "count": 1,
        "rate": 0.5,
        "fast": False,
        "mode": "strict",
        "level": 1,
        "text": "a",
        "limit": None,
        "either": 3,
        "colour": "blue",
        "names": [],
        "numbers": [1, 2],
        "tags": ["a", "b"],
        "table": None,
    }


def test_options_are_listed_in_the_order_of_the_constructor():
    assert [str(option) for option in list_options(EXACT)] == [
        "fold_case: bool = False",
        "delay_s: float = 0.0",
        "kill_at: str | none = None",
    ]


def test_the_catalog_loads_no_verifier_by_itself():
    code = "import sys, rewardkit.verifiers.catalog; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "rewardkit.verifiers.catalog" in loaded
    assert not [path for path in VERIFIERS.values() if path.partition(":")[0] in loaded]


def test_a_wrong_name_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no option 'mod' \(did you mean mode\?\)"):
        make_verifier("math", mod="strict")
    with pytest.raises(ConfigError, match=r"no verifier 'maht' \(did you mean math\?\)"):
        make_verifier("maht")


def test_a_value_of_the_wrong_type_is_a_config_error():
    with pytest.raises(ConfigError, match=r"'math'.*wrong type"):
        make_verifier("math", timeout_s="fast")


@pytest.mark.parametrize("name", ["code", "prolog", "dafny", "lean", "rocq", "kb", "sql"])
def test_memory_is_one_option_in_bytes_everywhere(name):
    names = [option.name for option in list_options(name)]
    assert "memory_bytes" in names
    assert "memory_mb" not in names
