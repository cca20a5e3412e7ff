"""Components: the repeated pieces of a page as tags that write HTML. What is longer than a few lines is a template in
``templates/_c/``. A block tag is closed by its own name with ``end`` before it.

Attributes of an element are given as arguments: ``data_key="a"`` becomes ``data-key="a"``, True an attribute without a
value; None, False and "" leave it out. A tag takes what it needs from the request, so that it also works inside
``{% include ... only %}``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from django import template
from django.contrib.messages.storage.base import Message
from django.forms.utils import flatatt
from django.middleware.csrf import get_token
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString

from sessions_app.domain.places import Word, in_words
from sessions_app.ruletexts import rule_kind
from sessions_app.selectors.filterfields import Choice
from sessions_app.selectors.outline import Fault
from sessions_app.selectors.sessions import SessionRow
from sessions_app.web import present
from sessions_app.web.addresses import address
from sessions_app.web.markup import conditional_escape, format_html, format_html_join
from sessions_app.web.text import masked_html, plain

register = template.Library()


def _attributes(given: dict[str, Any]) -> SafeString:
    named = ((name.replace("_", "-"), value) for name, value in given.items())
    kept = ((name, value) for name, value in named if value is not False and value not in (None, ""))
    return format_html_join(
        "", "{}", ((format_html(" {}", n) if v is True else format_html(' {}="{}"', n, v),) for n, v in kept)
    )


# States: shape, word, colour


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, extra: str = "") -> SafeString:
    """A symbol of the sprite. Decorative: the word beside it carries the meaning."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        extra,
        static("img/sprite.svg"),
        name,
    )


@register.filter
def look(state: str, family: str) -> present.Look:
    """``{{ fault.severity|look:"severity" }}``: the shape, word and tone of a state."""
    return present.look(family, state)


@register.filter
def role_look(kind: str) -> present.Look:
    """Whose a message is."""
    return present.role(kind)


@register.simple_tag
def badge(family: str | present.Look, state: str = "", extra: str = "", words: str = "") -> SafeString:
    """The badge of a state, or of a look; ``words`` are said in place of its word."""
    return _badge(family if isinstance(family, present.Look) else present.look(family, state), extra, words)


@lru_cache(maxsize=256)
def _badge(known: present.Look, extra: str, words: str) -> SafeString:
    spin = "spin" if known.shape == "working" else ""
    said = words or known.word
    return format_html('<span class="badge tone-{} {}">{}{}</span>', known.tone, extra, icon(known.shape, spin), said)


@register.simple_tag
def state(family: str | present.Look, state: str = "", words: str = "") -> SafeString:
    """A state inside a line: shape and word, no pill."""
    known = family if isinstance(family, present.Look) else present.look(family, state)
    return format_html('<span class="ink-{}">{} {}</span>', known.tone, icon(known.shape), words or known.word)


@register.simple_tag
def health(row: SessionRow, extra: str = "") -> SafeString:
    """The badge of a session's health, or that it has changed since."""
    return badge("health", "stale" if row.stale else row.health, extra)


@register.simple_tag
def rule_kinds(rules: Collection[str]) -> str:
    """What a repair was about: the kinds of its rules, "Repair" where it names none."""
    return "; ".join(rule_kind(rule) for rule in rules) or "Repair"


@register.simple_tag
def rule_group(severity: str) -> str:
    """What the rules of a severity are called together."""
    return {"blocked": "Faults that block", "at-risk": "Faults that put at risk"}.get(severity, "For information")


# Places and addresses


@register.simple_tag
def query(*place: str, **pairs: Any) -> str:
    """``?a=b&c=d`` of what has a value, "" of nothing; a place given first becomes the fragment of its element."""
    return address(pairs, place[0] if place else None)


@register.simple_tag
def query_more(base: str, **pairs: Any) -> str:
    """A query string at hand, with these pairs too."""
    more = address(pairs).removeprefix("?")
    return f"?{base}{'&' if base and more else ''}{more}" if base or more else ""


@register.simple_tag
def step(fault: Fault, list_query: str) -> SafeString:
    """The attributes of a link to a fault: its page, of which htmx fetches what changes."""
    pairs = {"fault": fault.number, "list": list_query}
    url = address(pairs, fault.at)
    return _attributes(
        {
            "href": url,
            "hx-get": address(pairs),
            "hx-target": "#conversation",
            "hx-swap": "outerHTML",
            "hx-push-url": url,
        }
    )


@register.simple_tag
def place(session_id: int, at: str, words: str = "", **attributes: Any) -> SafeString:
    """The link to a part or message in its timeline: its id, or ``words``."""
    url = reverse("sessions_app:session", args=[session_id]) + (query(at, at=at) if at else "")
    given = _attributes({"href": url, "class": "" if words else "mono"} | attributes)
    return format_html("<a{}>{}</a>", given, words or at)


@register.simple_tag
def inwords(text: str, names: Mapping[str, str], session_id: int) -> SafeString:
    """A sentence with places for ids: those of ``names`` lead there, with the id in the title."""
    return SafeString("".join(_word(word, names, session_id) for word in in_words(plain(text), names)))


def _word(word: Word, names: Mapping[str, str], session_id: int) -> str:
    if not word.stored_id:
        return masked_html(word.text)
    if word.stored_id in names:
        return place(session_id, word.stored_id, word.text, title=word.stored_id, **{"class": "place"})
    return format_html('<span title="{}">{}</span>', word.stored_id, word.text)


@register.simple_tag(takes_context=True)
def admin_link(context: template.Context, model: str, id: int) -> SafeString | str:
    """The row's page in the administration, for staff who may look at it."""
    user = context.request.user  # type: ignore[attr-defined]
    if not (user.is_staff and user.has_perm(f"sessions_app.view_{model}")):
        return ""
    return format_html('<a href="{}">Administration</a>', reverse(f"admin:sessions_app_{model}_change", args=[id]))


@register.simple_tag
def copy_button(text: str, name: str) -> SafeString:
    """A button that copies ``text``; ``name`` completes "Copy ..."."""
    return format_html(
        '<button type="button" class="copy" data-copy="{}" aria-label="Copy {}">{}</button>', text, name, icon("copy")
    )


@register.simple_tag
def copy_id(stored_id: str, name: str) -> SafeString:
    """A button that copies the id of what is called ``name``."""
    return copy_button(stored_id, f"the id of {name or 'this'}")


@register.simple_tag
def copy_from(selector: str) -> SafeString:
    """A button that copies the text of an element of the page."""
    return format_html(
        '<button type="button" class="button button-small needs-js" data-copy-from="{}">{}'
        "<span data-copy-word>Copy</span></button>",
        selector,
        icon("copy"),
    )


# Texts whose white space is kept: written here, since the formatter may break the lines of a template.


@register.simple_tag
def quote(text: Any) -> SafeString:
    """A provider's or client's own words."""
    return format_html('<p class="quote">{}</p>', masked_html(plain(str(text))))


@register.simple_tag
def said(text: str, cut: bool = False) -> SafeString:
    """Text of a transcript as it was written; ``cut`` says that it goes on."""
    return format_html('<div class="part-text">{}{}</div>', masked_html(plain(text)), "…" if cut else "")


# Forms


@register.simple_tag
def field(
    name: str, label: str, value: Any = "", *, hint: str = "", problem: str = "", id: str = "", **attributes: Any
) -> SafeString:
    """A labelled input with its hint, and what is wrong with the value that was given."""
    known = id or name
    given = {"id": known, "name": name, "value": "" if value is None else value} | attributes
    if problem:
        given |= {"aria-invalid": "true", "aria-describedby": f"{known}-problem"}
    return _labelled(known, label, format_html("<input{}>", _attributes(given)), problem, hint)


@register.simple_block_tag
def hinted(content: str, name: str, label: str, value: Any = "", **attributes: Any) -> SafeString:
    """A field whose hint is the content: for a hint that is long, or holds markup."""
    return field(name, label, value, hint=SafeString(content.strip()), **attributes)


@register.simple_tag
def select(
    name: str, label: str, choices: Iterable[Any], chosen: Any = "", *, hint: str = "", any: str = "", **attributes: Any
) -> SafeString:
    """A labelled choice of (value, word) pairs, plain words or counted choices; ``any`` is the word for none."""
    pairs = [("", any)] if any else []
    pairs += [_pair(choice) for choice in choices]
    options = format_html_join(
        "",
        "<option{}>{}</option>",
        ((flatatt({"value": v, "selected": bool(v) and v == str(chosen)}), word) for v, word in pairs),
    )
    given = _attributes({"id": name, "name": name} | attributes)
    return _labelled(name, label, format_html("<select{}>{}</select>", given, options), "", hint)


def _pair(choice: Any) -> tuple[str, str]:
    if isinstance(choice, Choice):
        return choice.value, f"{choice.label} ({choice.count:,})" if choice.count else choice.label
    return (choice, choice) if isinstance(choice, str) else (str(choice[0]), str(choice[1]))


def _labelled(id: str, label: str, control: SafeString, problem: str, hint: str) -> SafeString:
    wrong = format_html('<span class="wrong" id="{}-problem" role="alert">{}</span>', id, problem) if problem else ""
    below = format_html('<span class="hint">{}</span>', hint) if hint else ""
    return format_html('<div class="field"><label for="{}">{}</label>{}{}{}</div>', id, label, control, wrong, below)


@register.simple_tag
def check(name: str, value: str, words: str, *, css: str = "", **attributes: Any) -> SafeString:
    """A tick box with its words."""
    box = _attributes({"type": "checkbox", "name": name, "value": value} | attributes)
    return format_html(
        '<label class="check"><input{}><span{}>{}</span></label>', box, _attributes({"class": css}), words
    )


@register.simple_tag
def ticked(name: str, value: str, words: str, chosen: Collection[str], css: str = "") -> SafeString:
    """One of several boxes, ticked where it is among the chosen. By its id it keeps the focus when it is swapped."""
    return check(name, value, words, css=css, id=f"{name}-{value}", checked=value in chosen)


@register.simple_tag
def hidden(*pairs: Iterable[tuple[str, str]], **named: Any) -> SafeString:
    """Hidden inputs: pairs from Python, or named here; what has no value is left out."""
    given = [pair for group in pairs for pair in group] + list(named.items())
    kept = ((name, value) for name, value in given if value not in (None, False, ""))
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', kept)


@register.simple_block_tag(takes_context=True)
def post(context: template.Context, content: str, view: str = "", *args: Any, **attributes: Any) -> SafeString:
    """A form that posts to a view with its token. ``back=True``: its answer leads back to this page; ``main="none"``:
    htmx puts the answer in place of the page's main part, and scrolls as is said. ``inside=".css"``: in place of what
    it stands in."""
    request = context.request  # type: ignore[attr-defined]
    action = reverse(view, args=args) if view else ""
    back = hidden(next=request.get_full_path()) if attributes.pop("back", False) else ""
    main = attributes.pop("main", "")
    if main:
        attributes |= {"hx_target": "#main", "hx_select": "#main", "hx_swap": f"outerHTML show:{main}"}
    inside = attributes.pop("inside", "")
    if inside:
        attributes |= {"hx_target": f"closest {inside}", "hx_swap": "outerHTML"}
    if "hx_target" in attributes:
        attributes.setdefault("hx_post", action)
    token = hidden(csrfmiddlewaretoken=get_token(request))
    given = _attributes({"method": "post", "action": action} | attributes)
    return format_html("<form{}>{}{}{}</form>", given, token, back, SafeString(content.strip()))


# Blocks


@register.simple_block_tag
def notice(content: str, tone: str, shape: str = "", **attributes: Any) -> SafeString:
    """A sentence that the reader must see, with the shape of its tone."""
    return format_html(
        '<div{}>{}<div class="notice-text">{}</div></div>',
        _attributes(attributes | {"class": f"notice tone-{tone} {attributes.get('class', '')}".strip()}),
        icon(shape or present.NOTICE.get(tone, "info")),
        SafeString(content.strip()),
    )


@register.simple_block_tag
def card(
    content: str, title: str, id: str, *, level: int = 2, count: int | None = None, note: str = "", aside: str = ""
) -> SafeString:
    """A section with a head line. ``count`` stands in brackets after the title; beside it a note, or markup."""
    return format_html(
        '<section class="card" aria-labelledby="{}"><div class="card-head">{}{}{}</div>{}</section>',
        id,
        _heading(title, id, level, count),
        format_html('<span class="small muted">{}</span>', note) if note else "",
        conditional_escape(aside),
        SafeString(content.strip()),
    )


@register.simple_block_tag
def panel(content: str, title: str, id: str, level: int = 2, count: int | None = None, css: str = "") -> SafeString:
    """A short section in a box: its heading stands inside."""
    return format_html(
        '<section class="card card-body {}" aria-labelledby="{}">{}{}</section>',
        css or "stack-small",
        id,
        _heading(title, id, level, count),
        SafeString(content.strip()),
    )


def _heading(title: str, id: str, level: int, count: int | None) -> SafeString:
    counted = f" ({count:,})" if count is not None else ""
    return format_html('<h{0} id="{1}">{2}{3}</h{0}>', level, id, title, counted)


@register.simple_block_tag
def danger(content: str, title: str, id: str, label: str) -> SafeString:
    """What cannot be taken back, or is rarely needed: apart, with a border that says so."""
    return format_html(
        '<section class="danger" aria-label="{}"><section aria-labelledby="{}">{}{}</section></section>',
        label,
        id,
        _heading(title, id, 2, None),
        SafeString(content.strip()),
    )


@register.simple_block_tag
def menu(content: str, label: str, shape: str, css: str = "", button: str = "button button-small") -> SafeString:
    """A button that opens a small panel; works without script."""
    return format_html(
        '<details class="menu"><summary{}>{}{}</summary><div class="menu-panel {}">{}</div></details>',
        _attributes({"class": button}),
        icon(shape),
        label,
        css,
        SafeString(content.strip()),
    )


@register.simple_block_tag
def nothing(content: str, shape: str, title: str, level: int = 2) -> SafeString:
    """The page or list is empty: why, and what to do next. (``empty`` would be taken for that of a loop.)"""
    return format_html(
        '<div class="card empty">{0}<h{1}>{2}</h{1}>{3}</div>', icon(shape), level, title, SafeString(content.strip())
    )


@register.simple_block_tag
def crumbs(content: str, here: str) -> SafeString:
    """The way to this page: links as list items, then the page itself."""
    return format_html(
        '<nav aria-label="Breadcrumb"><ol class="crumbs">{}<li aria-current="page">{}</li></ol></nav>',
        SafeString(content.strip()),
        here,
    )


@register.simple_block_tag
def table(content: str, label: str, *heads: str, box: str = "table-box") -> SafeString:
    """A table in a box that scrolls by keyboard too. A head that begins with "#" is of numbers, with "-" is not shown;
    the content are its rows."""
    cells = format_html_join("", '<th scope="col"{}>{}</th>', (_head(head) for head in heads))
    return format_html(
        '<div class="{}" tabindex="0" role="region" aria-label="{}"><table class="table">'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        box,
        label,
        cells,
        SafeString(content.strip()),
    )


def _head(head: str) -> tuple[str, str]:
    if head.startswith("-"):
        return "", format_html('<span class="visually-hidden">{}</span>', head[1:])
    return (flatatt({"class": "number"}), head[1:]) if head.startswith("#") else ("", head)


@register.simple_tag
def diff_sign(change: str, here: bool) -> SafeString:
    """The cell before a line of a difference: its sign, said as a word too."""
    sign = {"removed": "−", "added": "+"}[change]
    if not here:
        return SafeString('<td class="sign"></td>')
    return format_html(
        '<td class="sign {0}"><span class="visually-hidden">{0} </span><span aria-hidden="true">{1}</span></td>',
        change,
        sign,
    )


@register.simple_tag
def bar_link(view: str, words: str, shape: str, *, key: str, current: str) -> SafeString:
    """A place of the main menu; its key is in ``data-key``."""
    here = "page" if view.endswith(f":{current}") else ""
    given = _attributes({"href": reverse(view), "data-key": key, "aria-current": here})
    return format_html("<a{}>{}{}</a>", given, icon(shape), words)


@register.simple_tag
def message_notice(message: Message) -> SafeString:
    """What the page before has to say: its extra tag is the tone."""
    tone = message.extra_tags or "repaired"
    return format_html(
        '<div class="notice tone-{}">{}<div class="notice-text">{}</div></div>',
        tone,
        icon(present.NOTICE.get(tone, "info")),
        message,
    )
