"""The rules about images, documents and other files."""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    MEDIA,
    OVERFLOW,
    SCHEMA,
    SEMANTIC,
    rule,
    says,
)

MEDIA_RULES = (
    rule(
        "A25",
        "P",
        "reported",
        SCHEMA,
        says(
            r"all content must be type text if is_error",
            "media-rejected",
            MEDIA,
            "{position}: all content must be type `text` if `is_error` is true",
        ),
    ),
    rule(
        "A26",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"image dimensions exceed",
            "media-rejected",
            MEDIA,
            "{position}: At least one of the image dimensions exceed max allowed size: {edge} pixels",
            many="{position}: At least one of the image dimensions exceed max allowed size for many-image requests:"
            " {edge} pixels",
        ),
        vendor_only=True,
    ),
    rule(
        "A27",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"image exceeds [\d.]+ ?mb",
            "media-rejected",
            MEDIA,
            "{position}: image exceeds {megabytes} MB maximum: {size} bytes > {limit} bytes",
        ),
        vendor_only=True,
        note="5 MB on Bedrock, Vertex and servers of unknown make.",
    ),
    rule(
        "A28",
        "P",
        "reported",
        SEMANTIC,
        says(
            r"media type, but the image appears to be|could not process image"
            r"|source\.base64\.media_type: Input should be",
            "media-rejected",
            MEDIA,
            "Could not process image",
            label="{position}.image.source.base64.data: The image was specified using the {declared} media type, but"
            " the image appears to be a {real} image",
            type="{position}: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
        ),
        vendor_only=True,
        note="From the first bytes; that all of an image decodes is not checked.",
    ),
    rule(
        "A29",
        "R",
        "documented",
        SCHEMA,
        says(
            r"request_too_large",
            "media-rejected huge-output context-overflow",
            OVERFLOW,
            "request_too_large: Request exceeds the maximum size",
        ),
        says(
            r"\d+ images, exceeding the maximum|too many images",
            "media-rejected",
            MEDIA,
            images="messages: too many images: {count} > {limit}",
            speaks="",
        ),
        vendor_only=True,
        note="Pages of PDFs are not counted: that needs a PDF reader.",
    ),
)
