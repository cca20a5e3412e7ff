"""What is kept in memory: the last used, within its bound."""

from __future__ import annotations

from sessions_app.kept import Kept, forget_all


def test_it_keeps_what_was_used_last_within_its_bound() -> None:
    kept: Kept[str, str] = Kept(10, len)
    for name in ("aaaa", "bbbb"):
        kept.put(name, name)
    assert kept.get("aaaa") == "aaaa"
    kept.put("cccc", "cccc")
    assert kept.get("bbbb") is None
    assert (kept.get("aaaa"), kept.get("cccc"), kept.spent, len(kept)) == ("aaaa", "cccc", 8, 2)


def test_what_is_dearer_than_the_bound_is_given_back_and_not_kept() -> None:
    kept: Kept[str, str] = Kept(3, len)
    kept.put("a", "aa")
    assert kept.put("b", "bbbb") == "bbbb"
    assert (kept.get("a"), kept.get("b"), kept.spent) == ("aa", None, 2)


def test_a_value_put_again_is_counted_once() -> None:
    kept: Kept[str, str] = Kept(10, len)
    kept.put("a", "aaaa")
    kept.put("a", "aa")
    assert (kept.get("a"), kept.spent) == ("aa", 2)


def test_made_makes_once_and_forgetting_forgets_all() -> None:
    kept: Kept[str, int] = Kept(2)
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [kept.made("a", make), kept.made("a", make)] == [0, 0]
    forget_all()
    assert kept.made("a", make) == 1
