"""No error that names an address shows its password, however the address is misspelt."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from penstock import App
from penstock.config.load import load
from penstock.domain.errors import PenstockError
from penstock.engines import parse_address
from penstock.store.mask import masked

CANARY = "hunter2"
BROKEN = [
    "postgres//u:{}@h", "postgresql:/u:{}@h/db", "postgresql;//u:{}@h", "postgres:u:{}@h", "u:{}@h/db", "//u:{}@h",
    "mysql://u:{}@h/db", "https://u:{}@h", "sqlite://u:{}@h", "postgresql+foo://u:{}@h/db", " postgresql://u:{}@h",
    "postgresql ://u:{}@h", "postgresql:\\\\u:{}@h", "u/{}@h", "postgres:{}", "postgres//u:{}", "postgresql//u:{}/db",
    "postgresql://u:{}", "postgresql://u:{}/db", "postgresql://u:{}@h:abc/db", "postgresql://u:{}@h:99999999/db",
    "postgresql://u:{}@h:" + "9" * 5000, "postgresql://u:{}@[::1/db", "mysql://u:{}@[::1", "mysql://u:{}@h\u2100",
    "postgresql://u:a/{}@h", "postgresql://u:a@{}@h", "postgresql://u:a?{}@h",
    "postgresql://u:a b{}@h", "postgresql://u:a\n{}@h", "postgresql://u:a\0{}@h",
    "postgresql://u:%zz{}@h", "postgresql://u@{}@h", "postgresql://u@h:{}/db",
    "host=h user=u password={}", "host=h password='a {}' user=u", "postgresql://h/db?password={}&pool=0",
    "postgresql://h/db?PassWord={}", "postgresql://h/db?pass%77ord={}", "postgresql://h/db?password=a&{}",
    "postgresql://h/db?sslpassword={}&x", "postgresql://u@h/db?password={}@x&pool=x", "postgresql://h/db&password={}",
    "postgresql://h/db?user=u;password={}", "postgresql://h/db?password = {}", "postgresql://u:{}@h/db?pool=99999",
    "postgresql://u:{}@h/db?shema=x", "postgresql://u:{}@h/db?schema=a b", "postgresql://u:{}@h/db?timeout=never",
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_a_misspelt_address_is_refused_without_its_password(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = broken.format(CANARY)
    assert CANARY not in masked(address)
    with pytest.raises(PenstockError) as caught:
        App(address)
    assert CANARY not in str(caught.value)
    if "\0" not in address and address == address.strip():  # The environment holds no NUL, and spaces there are cut.
        monkeypatch.setenv("PENSTOCK_STORE", address)
        with pytest.raises(PenstockError) as caught:
            load().store()
        assert CANARY not in str(caught.value)


def test_one_of_the_wrong_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in (f"store = ['postgresql://u:{CANARY}@h']", f"history = 'postgresql://u:{CANARY}@h'"):
        (tmp_path / "penstock.toml").write_text(line)
        with pytest.raises(PenstockError) as caught:
            load()
        assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://u:x@h/db?password=y&schema=z", "postgresql://u:***@h/db?password=***&schema=z"),
        ("postgresql://u@h/db?application_name=a@b", "postgresql://u@h/db?application_name=a@b"),
        ("postgresql://u@h:5432/db?pool=4", "postgresql://u@h:5432/db?pool=4"),
        ("postgresql://h1:1,h2:2/db", "postgresql://h1:1,h2:2/db"),
        ("postgresql://[::1]:5432/db", "postgresql://[::1]:5432/db"),
        ("postgresql:///db?host=/tmp", "postgresql:///db?host=/tmp"),
        ("sqlite:////srv/me@x/jobs:1.db", "sqlite:////srv/me@x/jobs:1.db"),
        ("sqlite:////srv/a=b&c=d/jobs.db?synchronous=full", "sqlite:////srv/a=b&c=d/jobs.db?synchronous=full"),
        ("postgresql://u@h/db?pool", "postgresql://u@h/db?pool"),
        ("postgresql://u@h/db?pasword=x&sslmode=require", "postgresql://u@h/db?pasword=***&sslmode=require"),
        ("sqlite:jobs.db", "sqlite:jobs.db"),
        ("/var/lib/x:y/jobs.db", "/var/lib/x:y/jobs.db"),
        ("C:\\jobs.db", "C:\\jobs.db"),
        ("jobs.db", "jobs.db"),
    ],
)
def test_what_is_no_secret_stays(address: str, shown: str) -> None:
    assert masked(address) == shown


SECRET_OPTIONS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key")


@st.composite
def misspelt(draw: st.DrawFn) -> str:
    """The name of an option that holds a secret, with a letter left out, put in, changed or swapped."""
    name = draw(st.sampled_from(SECRET_OPTIONS))
    at, letter = draw(st.integers(0, len(name) - 2)), draw(st.sampled_from("aswxz_-P1"))
    return draw(st.sampled_from([
        name[:at] + name[at + 1 :], name[:at] + letter + name[at:], name[:at] + letter + name[at + 1 :],
        name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    ]))  # fmt: skip


@given(
    misspelt(),
    st.sampled_from([
        "postgresql://bob@127.0.0.1:1/db?{}={}", "postgresql://h/db?sslmode=require&{}={}", "postgresql://h/db&{}={}",
        "postgresql://h/db?{}={}&pool=0", "postgresql://h/db;{}={}", "host=h {}={} user=u", "sqlite:///jobs.db?{}={}",
        "postgresql://h/db?{}:{}", "postgresql://h/db?{}%3D{}", "mysql://h/db?{}={}",
    ]),
)  # fmt: skip
def test_the_value_of_a_misspelt_option_is_hidden(name: str, form: str) -> None:
    address = form.format(name, CANARY)
    assert CANARY not in masked(address)
    try:
        shown = parse_address(address).shown  # Such as that of a database with a strange name.
    except PenstockError as error:
        shown = str(error)
    assert CANARY not in shown


@given(st.text(alphabet="abp:/@?&=;,# %[]{}'\"\\\n.19-", max_size=60), st.text(alphabet="ab:/@?&= ", max_size=10))
def test_what_stands_before_the_last_at_of_a_user_is_hidden(before: str, after: str) -> None:
    assert CANARY not in masked(f"postgresql://u:{before}{CANARY}@h{after.replace('@', '')}")
