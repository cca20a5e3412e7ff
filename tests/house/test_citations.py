"""Whoever follows a citation arrives: every page and anchor that code or docs name is in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (".ci", "sessions_app", "tests", "bench", "docs", "templates", "static")
KINDS = {".py", ".md", ".json", ".html", ".css", ".js", ".toml", ".yaml", ""}
EVIDENCE = ("docs/contract/", "tests/data/")
"""What rests on public reports, and names them by repository and number."""

ANCHOR = r"#[\w-]+(?:\.[\w-]+)*"
CITATION = re.compile(rf"(?<![\w./-])(docs/[\w./-]+\.md)((?:{ANCHOR}(?:(?:,| and| to) (?={ANCHOR}))?)*)")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
OLD = re.compile(
    r"(?<!\[)\b(?:opencode-)?formats? [ABC]\d\b"
    r"|\b(?:opencode-format|v2-disagreements|ui-2|ui)\.md\b"
    r"|(?<![\w/#\[-])(?:design|rules)(?:\.md)? (?:\d+\.\d|\d(?=[).,;:]))"
    r"|(?<![\w/#\[-])wire[- ]rules(?:\.md)? (?:\d|[AOSRGB]\d)"
    r"|\bissue (?:[A-J]\b|\d)"
    r"|\(6\.\d (?:step|[CF]\d)|\([CF]\d+\)"
    r"|\.\./shared\b|/[w]ork/"
)
REPORT = re.compile(r"\b(?:oc|cc|cx|ha|gc|ai|ll|omp)#\d+|github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+")


def files() -> Iterator[Path]:
    found = [path for place in PLACES for path in (ROOT / place).rglob("*")] + list(ROOT.glob("[!.]*"))
    for path in sorted(found):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and path.suffix in KINDS and not {"node_modules", "__pycache__"} & set(parts):
            yield path


@cache
def read(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


def unwrapped(text: str) -> str:
    """The text as one line, so that what a comment or docstring breaks over two lines is seen whole."""
    return re.sub(r"\s*\n[ \t]*(?:# ?)?", " ", text)


@cache
def anchors(page: Path) -> set[str]:
    """Those written out, and those that headings get by themselves."""
    text = read(page)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)"></a>', text))


def broken(page: Path, anchor: str) -> bool:
    return not page.is_file() or ROOT not in page.resolve().parents or bool(anchor and anchor not in anchors(page))


def others() -> list[Path]:
    return [path for path in files() if path != Path(__file__)]


def test_every_citation_names_a_page_and_an_anchor_that_are_there() -> None:
    cited = 0
    told = []
    for path in others():
        for name, tail in CITATION.findall(unwrapped(read(path))):
            for anchor in re.findall(ANCHOR, tail) or [""]:
                cited += 1
                if broken(ROOT / name, anchor[1:]):
                    told.append(f"{path.relative_to(ROOT)}: {name}{anchor}")
    assert told == []
    assert cited > 200


def test_no_page_gives_an_anchor_twice() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        given = re.findall(r'<a id="([^"]+)"></a>', read(page))
        assert sorted(set(given)) == sorted(given), page


def test_every_link_of_a_page_stays_in_the_repository_and_arrives() -> None:
    told = []
    for path in others():
        if path.suffix != ".md":
            continue
        text = re.sub(r"```.*?```|`[^`\n]*`", "", read(path), flags=re.DOTALL)
        for link in ("".join(pair) for pair in LINK.findall(text)):
            if link.startswith("https://"):
                continue
            name, _, anchor = link.partition("#")
            if broken((path.parent / name).resolve() if name else path, anchor):
                told.append(f"{path.relative_to(ROOT)}: {link}")
    assert told == []


def test_every_decision_is_in_their_index() -> None:
    pages = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\(([\w-]+\.md)\)", read(pages / "README.md"))
    assert sorted(listed) == sorted(page.name for page in pages.glob("*.md") if page.name != "README.md")


def test_every_file_that_a_page_names_is_there() -> None:
    named = re.compile(
        r"`((?:sessions_app|domain|services|stores|models|web|api|tests|docs)/[\w./-]+\.(?:py|md|json))`"
    )
    told = []
    for path in others():
        if path.suffix == ".md" and "data" not in path.parts:
            for name in named.findall(read(path)):
                if not any((ROOT / top / name).is_file() for top in ("", "sessions_app", "sessions_app/domain")):
                    told.append(f"{path.relative_to(ROOT)}: {name}")
    assert told == []


OLD_SPELLINGS = (
    "(format A7)",
    "format\n    B2, and",
    "(rules 2.19, 2.25)",
    "rules.md 2.5",
    "(rules 4)",
    "design 5",
    "(design 2, verdict)",
    "(wire-rules 6.1 step 5)",
    "wire-rules 1b",
    "(6.8 F18)",
    "(C4)",
    "(issue C 5)",
    "issue 8",
    "../shared/design.md",
    "opencode-format.md",
)


@pytest.mark.parametrize("text", OLD_SPELLINGS)
def test_an_old_spelling_is_seen(text: str) -> None:
    assert OLD.search(unwrapped(f"{text}."))


def test_nothing_is_cited_by_a_name_that_only_its_authors_know() -> None:
    told = [
        f"{path.relative_to(ROOT)}: {match[0]}" for path in others() for match in OLD.finditer(unwrapped(read(path)))
    ]
    assert told == []


def test_reports_of_others_are_evidence_in_the_contract_and_are_cited_nowhere_else() -> None:
    told = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in others()
        if not path.relative_to(ROOT).as_posix().startswith(EVIDENCE)
        for match in REPORT.finditer(read(path))
    ]
    assert told == []
