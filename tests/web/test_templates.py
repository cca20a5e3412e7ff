"""What the strict policy needs of every template, and that every page carries the policy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import get_resolver

TEMPLATES = sorted((settings.BASE_DIR / "templates").rglob("*.html"))
STYLE = re.compile(r"\sstyle\s*=", re.IGNORECASE)
EVENT = re.compile(r"\son[a-z]+\s*=", re.IGNORECASE)
INLINE = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>|<style\b|javascript:", re.IGNORECASE)
FOREIGN = re.compile(r"(?:src|href)=[\"']?(?:https?:)?//", re.IGNORECASE)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
@pytest.mark.parametrize("pattern", [STYLE, EVENT, INLINE, FOREIGN], ids=["style", "event", "inline", "foreign"])
def test_no_template_needs_what_the_policy_forbids(template: Path, pattern: re.Pattern[str]) -> None:
    assert not pattern.search(template.read_text())


def test_the_patterns_find_what_they_look_for() -> None:
    assert STYLE.search('<p style="color:red">')
    assert EVENT.search('<a onclick="x()">')
    assert INLINE.search("<script>x()</script>")
    assert not INLINE.search('<script type="module" src="/static/js/x.js">')
    assert FOREIGN.search('<script src="//cdn.example/x.js">')


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/sessions/", "/sources/", "/repairs/", "/help/", "/locate/", "/sessions/1/"])
def test_every_page_carries_the_strict_policy(alice: Client, path: str) -> None:
    policy = alice.get(path)["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "nonce" not in policy


@pytest.mark.django_db
def test_the_login_carries_the_policy_too_and_may_not_be_framed() -> None:
    answer = Client().get("/login/")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer["content-security-policy"]
    assert answer["x-frame-options"] == "DENY"


def test_every_symbol_that_a_page_can_name_is_in_the_sprite() -> None:
    from sessions_app.web import present

    sprite = (settings.BASE_DIR / "static" / "img" / "sprite.svg").read_text()
    symbols = set(re.findall(r'<symbol id="([\w-]+)"', sprite))
    families = (
        present.HEALTH,
        present.SEVERITY,
        present.SAFETY,
        present.REPAIR,
        present.JOB,
        present.TOOL_STATUS,
        present.KIND,
    )
    named = {look.shape for family in families for look in family.values()}
    named |= {name for template in TEMPLATES for name in re.findall(r'{% icon "([\w-]+)"', template.read_text())}
    assert named <= symbols


def test_every_address_that_a_template_names_exists() -> None:
    resolver = get_resolver()
    named = {
        (template.name, name)
        for template in TEMPLATES
        for name in re.findall(r"""{% (?:url|post|bar_link) ["']([\w:-]+)["']""", template.read_text())
    }
    known = {key for key in resolver.reverse_dict if isinstance(key, str)}
    for space, (_, nested) in resolver.namespace_dict.items():
        known |= {f"{space}:{key}" for key in nested.reverse_dict if isinstance(key, str)}
    assert {item for item in named if item[1] not in known} == set()
