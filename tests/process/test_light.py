"""`import rewardkit.process` costs little: arrays and models come when they are used."""

from tests.test_import_light import HEAVY, modules_after


def test_importing_the_process_package_loads_nothing_heavy():
    loaded = modules_after("import rewardkit.process")
    assert "rewardkit" in loaded
    assert not loaded & (HEAVY - {"multiprocessing", "email"})


def test_scoring_steps_needs_no_numpy():
    code = "from rewardkit.process import EqualityVerifier as E; E().verify('1 + 1 = 2', None)"
    assert not modules_after(code) & {"numpy", "torch", "sympy"}
