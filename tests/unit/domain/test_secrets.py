"""What looks like a secret is taken out of a text, whatever surrounds it, and in time that the text's length bounds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from penstock.domain.failure.secrets import CHARS_MAX, hide_secrets

CANARY = "hunter2"
HOLDING = [
    "postgresql://u:{}@h/db",
    "postgresql://u:{}@h:5432/db?sslmode=require",
    "postgresql://:{}@h",
    "postgresql://u:with/slash{}@h/db",
    "postgresql://u:with@sign{}@h/db",
    "('redis://:{}@cache:6379/0',)",
    "amqp://guest:{}@mq//: refused",
    "host=h user=u password={} dbname=db",
    "host=h password='{} and more'",
    "https://h/path?token={}&page=2",
    "https://h/path?page=2&api_key={}",
    "https://h/path?key={}&page=2",
    "https://hooks.slack.com/services/T1/B2/{}",
    "https://hooks.slack.com/workflows/T1/A1/1/{}",
    "refused by https://discord.com/api/webhooks/123456/{} with 401",
    "https://api.telegram.org/bot123456:{}/send",
    "https://outlook.office.com/webhook/9d-0/IncomingWebhook/{}/1",
    "password={}",
    "PASSWORD: {}",
    "password:\n  {}",
    "db:\n  password:\n    {}\n  user: ann",
    "password: |\n  {}",
    "- password: >-\r\n    {}\r\n",
    "'client_secret':\n    '{}'",
    '"api_key" :\n\n      "{}"',
    "token =\n  {}",
    "password: |\n  first line\n\n  {}\nuser: ann",
    r"ScannerError('password:\n  {}')",
    r"'password: |\n  {}\n'",
    '{{\\"password\\":\\n    \\"{}\\"',
    "connect(password=\n    'two words {}')",
    "PGPASSWORD={} psql",
    r"b'GET / HTTP/1.1\r\nAuthorization: Bearer abc1234567890\r\nX-Api-Key: {}\r\nHost: h'",
    r"'Authorization: Bearer {}\nX-Api-Key: other'",
    r"'X-Api-Key: other\r\nCookie: sid=1; token={}\r\n'",
    r"'password: other\ntoken: {}\nuser: ann'",
    r"'secret=other\nX-Auth-Token: {}'",
    "db_pass={}",
    "Pwd={};Server=h",
    "{{'password': '{}', 'user': 'ann'}}",
    '{{"client_secret":"{}","user":"ann"}}',
    '{{\\"password\\": \\"{}\\"}}',
    '{{"password": "quoted \\" {}"}}',
    "connect(host='h', password=b'{}')",
    "Settings(secret_key=SecretStr('{}'))",
    "aws_secret_access_key = {}",
    "DefaultEndpointsProtocol=https;AccountKey={}==;EndpointSuffix=x",
    "['psql', '--password', '{}']",
    "curl --api-key {} https://h",
    "Authorization: Bearer {}",
    "Authorization: Basic {}",
    "{{'Authorization': 'Bearer {}', 'Accept': '*/*'}}",
    "headers=[(b'authorization', b'Bearer 4f{}')]",
    "authorization: {}",
    "Authorization: Digest username=\"u\", response=\"{}\"",
    "X-Api-Key: {}",
    "Cookie: theme=dark; session={}",
    "{{'Set-Cookie': 'session={}; Path=/'}}",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE{}\n-----END RSA PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\nMIIE{} and no end",
]  # fmt: skip
SHAPES = [
    "sk-proj-abcdefghij0123456789",
    "sk_live_abcdefghij0123456789",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghij_abcdefghij",
    "glpat-abcdefghij0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghij",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
    "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz",
]


@pytest.mark.parametrize("holding", HOLDING)
def test_a_secret_is_taken_out(holding: str) -> None:
    text = holding.format(CANARY)
    assert CANARY in text
    assert CANARY not in hide_secrets(text)
    assert CANARY not in hide_secrets(
        f"it failed:\n  File 'x.py', line 3\n    {text}\nValueError: {text}, again: {text}"
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("around", ["{}", "key {} is wrong", "'{}'", "<{}>", "a={},b"])
def test_what_has_the_shape_of_a_token_is_taken_out(shape: str, around: str) -> None:
    assert shape not in hide_secrets(around.format(shape))


@pytest.mark.parametrize(
    "text",
    [
        "no route to host db-1:5432",
        "http://host:8080/a?x=ann@example.org is not there",
        "postgresql://user@host/database: the table is missing",
        "max_tokens: 4096 is over the limit",
        "Bearer authentication failed",
        "unexpected token '}' in line 3",
        "the bypass=5 path was taken",
        "task-0123456789abcdef0123 has failed",
        "KeyError: 'monkey'",
        "job 01890a5d-ac96-774b-bcce-b302099a8057 (send_email) is dead: all 3 attempts used",
        "Enter the password:\nTraceback (most recent call last):\n  File 'x.py', line 3",
        "password:\nuser: ann",
        '  File "/srv/app/tokens.py", line 5, in passport\n    return check(key, passes)\n',
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert hide_secrets(text) == text


def test_what_surrounds_a_secret_stays() -> None:
    assert hide_secrets("postgresql://ann:x@db-1/shop?password=y&schema=z: refused") == (
        "postgresql://ann:***@db-1/shop?password=***&schema=z: refused"
    )
    assert hide_secrets("a: 1\npassword: |\n  x\n  y z\nuser: ann") == "a: 1\npassword: ***\n  ***\n  ***\nuser: ann"
    assert hide_secrets("Authorization: Bearer abc.def, status 401") == "Authorization: Bearer ***, status 401"


@given(st.text(), st.sampled_from(HOLDING), st.text())
def test_any_text_around_it_does_not_bring_it_back(before: str, holding: str, after: str) -> None:
    assert CANARY not in hide_secrets(f"{before} {holding.format(CANARY)} {after}")


@given(st.text())
def test_nothing_is_made_longer_than_the_hiding_needs(text: str) -> None:
    once = hide_secrets(text)
    assert len(once) <= 4 * len(text)
    assert hide_secrets(once).count("\n") == once.count("\n")


PIECES = [
    "password=", "password='", 'password="', "://a:", "://", "://@:/", "eyJ", "-eyJ", "eyJa.", "--", "--a", "bearer ",
    "Authorization: ", "-----BEGIN PRIVATE KEY-----", "token\\", "a", "\\", "'", '"', "=", ":", " ", "sk-", "xox",
    "SG.aaaaaaaaaaaaaaaaaaaa", "digest a", "digest ab=", "cookie: a;", "access_", "private-", "pass", "@", "api", "\n",
    "password:\n", "password: |\n  ", "password:\\n", "password: |\\n ", "password:" + " " * 30,
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.turns
def test_a_megabyte_of_anything_takes_moments(piece: str) -> None:
    began = time.process_time()
    for joined in (piece, f"{piece}x", f"{piece}\n"):
        found = hide_secrets(joined * (1_000_000 // len(joined)))
        assert len(found) <= CHARS_MAX * 5
    assert time.process_time() - began < 5.0
