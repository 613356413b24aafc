def test_a_warm_and_a_fresh_worker_see_the_same(lean):
    deep = "set_option maxRecDepth 1000000 in\ntheorem t : True := "
    texts = [
        f"{deep}{'id (' * 8_000}trivial{')' * 8_000}\n",
        "theorem t : 1 = 2 := by\n  skip\n  exact rfl\n#print axioms t\n",
        "theorem t : 1 = 1 := by sorry\n#exit\njunk",
        "open Missing\n/- never closed",
        "",
    ]
    for text in texts:
        warm, fresh = (lean.check(text, fresh=fresh, compiled=True) for fresh in (False, True))
        assert warm.ended == fresh.ended == "done"
        assert {(m.severity, m.text) for m in warm.messages} == {
            (m.severity, m.text) for m in fresh.messages
        }
        assert bool(warm.olean) is bool(fresh.olean)
