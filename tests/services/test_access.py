"""Ways in: links that open once, tokens that can be taken back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sessions_app.models import ApiToken, AuditEntry, AuditIsAppendOnly, LoginLink
from sessions_app.services import access
from sessions_app.services.audit import audit_record
from tests.factories.models import NOW

pytestmark = pytest.mark.django_db


def test_a_login_link_opens_once():
    user = access.local_user_ensure()
    token = access.login_link_create(user=user, now=NOW)

    assert access.login_link_use(token=token, now=NOW) == user
    with pytest.raises(access.LoginLinkRefused):
        access.login_link_use(token=token, now=NOW)


def test_a_login_link_gets_too_old():
    token = access.login_link_create(user=access.local_user_ensure(), now=NOW)

    with pytest.raises(access.LoginLinkRefused):
        access.login_link_use(token=token, now=NOW + access.LINK_LIFE)


def test_an_invented_link_opens_nothing():
    with pytest.raises(access.LoginLinkRefused):
        access.login_link_use(token="../../etc/passwd\udcff", now=NOW)


def test_neither_link_nor_token_is_kept_readable():
    user = access.local_user_ensure()
    link = access.login_link_create(user=user, now=NOW)
    token = access.token_create(user=user, name="nightly", now=NOW)[1]

    assert link not in LoginLink.objects.get().digest
    assert token not in str(ApiToken.objects.values().get())


def test_the_local_user_has_no_password_and_is_made_once():
    user = access.local_user_ensure()

    assert not user.has_usable_password()
    assert access.local_user_ensure() == user


def test_a_token_names_its_user_until_it_is_revoked():
    user = access.local_user_ensure()
    token = access.token_create(user=user, name="nightly", now=NOW)[1]

    assert access.token_found(token=token, now=NOW).user == user
    access.token_revoke(token=ApiToken.objects.get(), actor="local", now=NOW)
    assert access.token_found(token=token, now=NOW) is None


def test_a_token_ends_with_its_life_and_with_its_user():
    user = access.local_user_ensure()
    short = access.token_create(user=user, name="short", now=NOW, life=timedelta(hours=1))[1]
    lasting = access.token_create(user=user, name="lasting", now=NOW)[1]

    assert access.token_found(token=short, now=NOW + timedelta(hours=1)) is None
    user.is_active = False
    user.save()
    assert access.token_found(token=lasting, now=NOW) is None


def test_an_audit_entry_is_a_sentence_and_cannot_be_changed_or_deleted():
    entry = audit_record(action="repair.applied", actor="ann", now=NOW, session="ses_1", changes=3)

    assert entry.sentence == "ann repaired ses_1: 3 rows changed"
    entry.actor = "bob"
    for attempt in (
        entry.save,
        entry.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.update(actor="bob"),
        lambda: AuditEntry.objects.bulk_update([entry], ["actor"]),
    ):
        with pytest.raises(AuditIsAppendOnly):
            attempt()
    assert AuditEntry.objects.get().actor == "ann"


def test_an_unregistered_action_is_refused():
    with pytest.raises(ValueError, match=r"no registered audit action: repair\.imagined"):
        audit_record(action="repair.imagined", actor="ann", now=NOW)


def test_a_start_of_serve_revokes_its_own_earlier_token_and_no_other_servers(tmp_path):
    user = access.local_user_ensure()
    made = access.token_create(user=user, name="nightly", now=NOW)[1]
    elsewhere = access.local_token_renew(user=user, now=NOW, place=tmp_path / "b", alone=True)
    first = access.local_token_renew(user=user, now=NOW, place=tmp_path / "a", alone=True)
    beside = access.local_token_renew(user=user, now=NOW, place=tmp_path / "a", alone=False)

    assert all(access.token_found(token=token, now=NOW) for token in (made, elsewhere, first, beside))
    again = access.local_token_renew(user=user, now=NOW, place=tmp_path / "a", alone=True)
    assert [bool(access.token_found(token=token, now=NOW)) for token in (made, elsewhere, first, beside, again)] == [
        True, True, False, False, True,
    ]  # fmt: skip
