"""The lines of a JSON document, as ``web/reader.py`` gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django import template
from django.utils.safestring import SafeString

from sessions_app.web.markup import format_html
from sessions_app.web.reader import Line

register = template.Library()


@register.simple_tag
def json_lines(lines: Iterable[Line], name: str) -> SafeString:
    """Their numbers give their pointers: ``reader.js`` copies them, without it the form ``reader-pointers`` shows
    them."""
    label = format_html('<pre class="code json-lines" tabindex="0" aria-label="JSON of {}">', name)
    return SafeString(f"{label}{''.join(_lines(lines))}</pre>")


def _lines(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        yield format_html(
            '<span class="line"{}><button form="reader-pointers" name="at" value="{}">{}</button>'
            '<span class="json">{}{}</span></span>',
            SafeString(' id="place"') if line.here else "",
            line.pointer,
            line.number,
            line.html,
            format_html('<i class="left-out"> {} characters more</i>', f"{line.left_out:,}") if line.left_out else "",
        )
