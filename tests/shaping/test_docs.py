"""Each shaper has its entry on the page, with a figure that is up to date."""

import inspect
import re
import runpy

import rewardkit.shaping
from rewardkit.shaping import CompletionShaper, GroupShaper
from tests.shaping.examples import ALL


def shapers():
    found = set()
    for name in rewardkit.shaping.__all__:
        value = getattr(rewardkit.shaping, name)
        if inspect.isclass(value) and issubclass(value, CompletionShaper | GroupShaper):
            found.add(name)
    return found - {"CompletionShaper", "GroupShaper"}


def test_the_figures_are_those_of_the_shapers(root):
    drawn = runpy.run_path(str(root / "docs/_plots.py"))
    figures = drawn["figures"]()
    folder = root / "docs/shaping"
    assert {f"{name}.svg" for name in figures} == {path.name for path in folder.iterdir()}
    for name, figure in figures.items():
        text = (folder / f"{name}.svg").read_text("utf-8")
        assert text == figure.svg(), "run python docs/_plots.py"


def test_every_shaper_has_an_entry_with_its_figure(root):
    page = (root / "docs/shaping.md").read_text("utf-8")
    entries = re.findall(r"^### (\w+)\n\n!\[(\w+)\]\(shaping/(\w+)\.svg\)", page, re.M)
    assert {name for name, _, _ in entries} == shapers()
    for name, alt, file in entries:
        assert name == alt
        assert file == re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def test_the_laws_are_tested_for_every_shaper():
    assert {type(shaper).__name__ for shaper in ALL.values()} == shapers()


def test_the_number_in_the_readme_is_right(root):
    assert len(shapers()) == 24
    assert "[Twenty-four shapers]" in (root / "README.md").read_text("utf-8")
