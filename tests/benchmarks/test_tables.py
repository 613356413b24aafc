"""Tables, and their place in the pages."""

import runpy

from benchmarks._tables import Section, Table, write_sections


def test_a_table_is_markdown_with_numbers_on_the_right():
    table = Table("T", ("a", "b"), (("x", "1"),), "A note.")
    assert table.to_markdown() == "**T**\n\n| a | b |\n|---|---:|\n| x | 1 |\n\nA note."


def test_a_section_replaces_what_is_between_its_own_markers_and_nothing_else(tmp_path):
    page = tmp_path / "deep/page.md"
    page.parent.mkdir()
    before = "a\n<!-- benchmark:x:begin -->\nold\n<!-- benchmark:x:end -->\nb\n"
    other = "<!-- benchmark:x-y:begin -->\nkept\n<!-- benchmark:x-y:end -->\n"
    page.write_text(before + other)
    (tmp_path / "without.md").write_text("nothing here")
    assert write_sections([Section("x", r"new \1 text")], tmp_path) == [page]
    assert page.read_text() == before.replace("old", r"new \1 text") + other


def test_writing_the_same_section_again_changes_nothing(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- benchmark:x:begin --><!-- benchmark:x:end -->")
    assert write_sections([Section("x", "text")], tmp_path) == [page]
    assert write_sections([Section("x", "text")], tmp_path) == []


def test_the_examples_on_the_math_page_are_those_of_the_fixtures(root):
    generate = runpy.run_path(str(root / "docs/_generate.py"))
    page = (root / "docs/verifiers/math.md").read_text("utf-8")
    fresh = generate["place"](page, generate["math_examples"]())
    assert page == fresh, "run python docs/_generate.py"
