"""What is known of the models a session was used with, from outside the session: the client's own configuration and its
cached list of models, or what somebody says (docs/contract/formats.md#a10).

Nothing of a configuration is kept but package, address, input modalities and reasoning field; keys never are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

import msgspec

from sessions_app.domain.near import unknown

type By = Literal["", "configuration", "hand"]

MODALITIES: Final = ("text", "image", "pdf", "audio", "video")
_COMPATIBLE: Final = "@ai-sdk/openai-compatible"
_LONGEST: Final = 200
_PACKAGE: Final = re.compile(r"@?[A-Za-z0-9][\w./@-]*\Z", re.ASCII)
_COMMENT: Final = r"//[^\n\r]*|/\*(?:.*?\*/|.*)"
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|' + _COMMENT + r"|,(?=(?:\s|" + _COMMENT + r")*+[}\]])", re.DOTALL)
"""Strings, which are kept, comments, and commas before a closing bracket; nothing is looked at twice."""
_ADDRESS: Final = re.compile(
    r"(https?://)(?:[^/?#@]*@)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?(?=[/?#]|\Z)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """Everything empty: nothing is known. ``input`` lists the modalities that are read; ``interleaved`` is the member
    of a message that reasoning goes into; ``completions`` asks an Azure resource for chat completions; ``by`` says
    whose word it is."""

    package: str = ""
    base_url: str = ""
    input: tuple[str, ...] | None = None
    interleaved: str | None = None
    completions: bool = False
    by: By = ""


UNKNOWN: Final = KnownModel()


def nothing_known(provider: str, model: str) -> KnownModel:
    """For a session of which only its rows are there."""
    return UNKNOWN


@dataclass(frozen=True, slots=True)
class Models:
    """``find`` gives what a configuration says of provider and model. ``input``, said by hand, goes for every model of
    the session."""

    find: Callable[[str, str], KnownModel] = nothing_known
    input: tuple[str, ...] | None = None

    def of(self, provider: str, model: str) -> KnownModel:
        """What is known of this model."""
        known = self.find(provider, model)
        return known if self.input is None else replace(known, input=self.input, by="hand")


NOTHING: Final = Models()


def input_said(text: str) -> tuple[str, ...] | None:
    """Modalities as people write them ("text,image,pdf"), in the usual order; None for none. Text is always read.
    Raises ``ValueError`` with words for a name that is no modality."""
    said = {name.strip().lower() for name in text.split(",") if name.strip()}
    for name in said:
        if name not in MODALITIES:
            raise ValueError(unknown("input", name, MODALITIES))
    return tuple(name for name in MODALITIES if name == "text" or name in said) if said else None


def document(models: Models, used: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """What a configuration says of the models used, as JSON: "provider/model" -> what is known, {} = nothing."""
    found = {f"{provider}/{model}": models.find(provider, model) for provider, model in used}
    return {
        name: {} if one == UNKNOWN else {**asdict(one), "input": None if one.input is None else list(one.input)}
        for name, one in found.items()
    }


def is_same(models: Models, stored: Mapping[str, Any]) -> bool:
    """Whether a configuration still says what is stored of it."""
    return document(models, [(name.partition("/")[0], name.partition("/")[2]) for name in stored]) == stored


def finder(stored: Mapping[str, Any]) -> Callable[[str, str], KnownModel]:
    """``document`` the other way round."""

    def find(provider: str, model: str) -> KnownModel:
        value = stored.get(f"{provider}/{model}")
        return msgspec.convert(value, KnownModel) if value else UNKNOWN

    return find


def jsonc(text: str) -> Any:
    """A configuration's value: JSON with comments and trailing commas. Raises ``ValueError`` where it is none."""
    plain = _TOKENS.sub(lambda found: found[0] if found[0][0] == '"' else " ", text.removeprefix("\ufeff"))
    try:
        return msgspec.json.decode(plain)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ValueError(str(problem)) from problem


@dataclass(frozen=True, slots=True)
class _Model:
    """What is kept of a model's entry. ``id``: what the model is called on the wire."""

    id: str = ""
    package: str = ""
    base_url: str = ""
    input: tuple[str, ...] | None = None
    interleaved: str | None = None
    completions: bool = False


@dataclass(frozen=True, slots=True)
class _Provider:
    """What is kept of a provider's entry. ``address`` stands among its options and goes before every other."""

    package: str = ""
    base_url: str = ""
    address: str = ""
    completions: bool = False
    models: Mapping[str, _Model] = field(default_factory=dict)


_NO_PROVIDER: Final = _Provider()


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the client's files say; ``catalog`` is its cached list of models, empty where it is not there."""

    providers: Mapping[str, _Provider]
    catalog: Mapping[str, _Provider]

    @classmethod
    def of(cls, documents: Iterable[Any], catalog: Any) -> Configuration:
        """Read from parsed files, the weakest first; what is not of the expected shape is passed over."""
        merged: dict[str, Any] = {}
        for one in documents:
            _merge(merged, _object(_object(one).get("provider")))
        return cls(_providers(merged), _providers(_object(catalog)))

    def find(self, provider: str, model: str) -> KnownModel:
        """As the client resolves it (docs/contract/formats.md#a10): the model's entry before the provider's, the
        configuration before the catalogue."""
        said, listed = self.providers.get(provider, _NO_PROVIDER), self.catalog.get(provider, _NO_PROVIDER)
        if said is listed:
            return UNKNOWN
        own = said.models.get(model)
        known = listed.models.get((own.id if own else "") or model)
        models = [entry for entry in (own, known) if entry is not None]
        packages = [own.package if own else "", said.package, known.package if known else "", listed.package]
        addresses = [said.address, own.base_url if own else "", said.base_url, known.base_url if known else ""]
        reads = next((entry.input for entry in models if entry.input is not None), None)
        if reads is None and own is not None and (self.catalog or (said.package and not listed.models)):
            # A model of one's own reads text alone until its configuration says more (docs/contract/wire.md#f4).
            reads = ("text",)
        return KnownModel(
            next(filter(None, packages), _COMPATIBLE),
            next(filter(None, addresses), listed.base_url),
            reads,
            next((entry.interleaved for entry in models if entry.interleaved), None),
            said.completions or bool(own and own.completions),
            "configuration",
        )


def _providers(value: Mapping[str, Any]) -> dict[str, _Provider]:
    return {name: _provider(_object(entry)) for name, entry in value.items()}


def _provider(value: dict[str, Any]) -> _Provider:
    options = _object(value.get("options"))
    return _Provider(
        _package(value.get("npm")),
        _address(value.get("api")),
        _address(options.get("baseURL")),
        options.get("useCompletionUrls") is True,
        {name: _model(_object(entry)) for name, entry in _object(value.get("models")).items()},
    )


def _model(value: dict[str, Any]) -> _Model:
    own, interleaved = _object(value.get("provider")), value.get("interleaved")
    reads = _object(value.get("modalities")).get("input")
    member = interleaved if isinstance(interleaved, str) else _object(interleaved).get("field")
    identifier = value.get("id")
    return _Model(
        identifier if isinstance(identifier, str) else "",
        _package(own.get("npm")),
        _address(own.get("api")),
        tuple(name for name in MODALITIES if name in reads) if isinstance(reads, list) else None,
        member if isinstance(member, str) and 0 < len(member) <= _LONGEST else None,
        _object(value.get("options")).get("useCompletionUrls") is True,
    )


def _package(value: Any) -> str:
    """A package's name; a path or an address is none that is known here."""
    return value if isinstance(value, str) and len(value) <= _LONGEST and _PACKAGE.match(value) else ""


def _address(value: Any) -> str:
    """Scheme, host and port: everything else of an address may hold a key. "" where a variable stands in it."""
    found = _ADDRESS.match(value) if isinstance(value, str) and len(value) <= 2_000 else None
    return "" if found is None else "".join(found.groups(default=""))


def _merge(into: dict[str, Any], value: dict[str, Any]) -> None:
    """Objects are merged member by member, everything else is replaced."""
    for key, new in value.items():
        known = into.get(key)
        if isinstance(known, dict) and isinstance(new, dict):
            _merge(known, new)
        else:
            into[key] = new


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
