"""Images and documents: size, number, truth of the label (A26 to A29)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sessions_app.domain.protocols.anthropic_messages.view import Block, View
from sessions_app.domain.protocols.checking import Pointer, objects, text_of
from sessions_app.domain.protocols.media import IMAGES, MIB, Sniffed, sniff
from sessions_app.domain.protocols.traits import needs
from sessions_app.domain.wire.verdict import Violation

EDGE = 8000
MANY = 20
EDGE_MANY = 2000


class _Image(NamedTuple):
    position: str
    pointer: Pointer
    declared: str
    data: str


@needs("media", "content-result")
def images(view: View) -> Iterator[Violation]:
    """A26 (edges; smaller in requests with many images), A27 (bytes), A28 (label and decodability), A29 (number)."""
    found = list(_images(view))
    limit = view.request.model.max_images
    for place, image in enumerate(found):
        if place >= limit:
            yield view.request.broken("A29", image.position, image.pointer, "images", count=len(found), limit=limit)
            break
    edge = EDGE_MANY if len(found) > MANY else EDGE
    for image in found:
        yield from _image(view, image, sniff(image.data), edge)


def _image(view: View, image: _Image, real: Sniffed, edge: int) -> Iterator[Violation]:
    request = view.request
    source = f"{image.position}.image.source.base64"
    megabytes = 5 if _five_megabytes(view) else 10
    limit = megabytes * MIB
    if real.encoded > limit:
        yield request.broken("A27", source, image.pointer, megabytes=megabytes, size=real.encoded, limit=limit)
    if max(real.width, real.height) > edge:
        many = "many" if edge == EDGE_MANY else ""
        yield request.broken("A26", f"{source}.data", image.pointer, many, edge=edge)
    if image.declared not in IMAGES:
        yield request.broken("A28", f"{source}.media_type", image.pointer, "type")
    elif not real.valid or (real.mime not in IMAGES and real.mime):
        yield request.broken("A28", image.position, image.pointer)
    elif not real.mime:
        yield request.broken("A28", image.position, image.pointer, doubtful=True)
    elif real.mime != image.declared:
        yield request.broken("A28", image.position, image.pointer, "label", declared=image.declared, real=real.mime)


def _five_megabytes(view: View) -> bool:
    """Bedrock, Vertex and servers of unknown make keep the old limit (A27)."""
    target = view.request.target
    return view.older or target.protocol == "bedrock-converse" or "vertex" in target.provider


def _images(view: View) -> Iterator[_Image]:
    for block in view.blocks:
        if block.kind == "image":
            yield from _base64(block.data, block.position, block.pointer)
        elif block.kind == "tool_result":
            yield from _nested(block)


def _nested(block: Block) -> Iterator[_Image]:
    for index, item in enumerate(objects(block.data.get("content"))):
        if item.get("type") == "image":
            yield from _base64(
                item, f"{block.position}.tool_result.content.{index}", (*block.pointer, "content", index)
            )


def _base64(data: dict[str, object], position: str, pointer: Pointer) -> Iterator[_Image]:
    source = data.get("source")
    if isinstance(source, dict) and source.get("type") == "base64":
        yield _Image(position, pointer, text_of(source.get("media_type")), text_of(source.get("data")))
