"""What looks like a secret in a text, taken out before the text is stored or logged. Pure: text in, text out.

Every pattern takes time in proportion to the text, whatever the text is: errors quote what comes from outside. Nothing
here is perfect; where it is in doubt, it hides too much rather than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

HIDDEN = "***"
CHARS_MAX = 50_000
"""Of a longer text the middle is left out: nothing shows so much of it."""

_WORDS = (
    "password|passwd|passphrase|passwort|(?<![a-z])pass|(?<![a-z])pwd?|secret|token|credentials?|api[_-]?key|apikey|"
    "(?:access|account|private|encryption|signing|master|shared|client|auth|secret)[_-]?key(?:[_-]?id)?|"
    "session[_-]?(?:id|key)|(?<![a-z])sig|signature|connection[_-]?string"
)
_SAME_LINE = r"(?!\\{1,4}[rn](?:\\{1,4}n)?[a-z][\w-]{0,40}\s{0,2}[:=])"
"""Not where a line break that is written as \\r or \\n begins a line with the next name."""
_VALUE = rf"""\\{{0,4}}(?:[a-z]{{0,2}}"(?:[^"\\]|\\.)*"?|[a-z]{{0,2}}'(?:[^'\\]|\\.)*'?|(?:{_SAME_LINE}[^\s&])+)"""
_BREAKS = r"(?:[|>][+-]?)?(?:\\{1,4}[nr]\s{0,20}){0,4}"
"""Between a name and its value, where line breaks are written as \\n."""
_NAMED = re.compile(
    rf"""((?:{_WORDS})\\{{0,4}}["']?\s{{0,3}}(?:=>|:=|[:=])\s{{0,3}}{_BREAKS}){_VALUE}""", re.IGNORECASE
)
_NAME_AT_END = re.compile(
    rf"""(?:{_WORDS})\\{{0,4}}["']?\s{{0,3}}(?:=>|:=|[:=])\s{{0,3}}(?P<block>[|>][+-]?)?\Z""", re.IGNORECASE
)
_FLAG = re.compile(rf"""((?<![\w-])--[\w-]{{0,40}}?(?:{_WORDS})["']?,?\s{{1,3}}["']?)[^\s"'-][^\s"']*""", re.IGNORECASE)
_HEADER = re.compile(
    r"""((?:authorization|x-api-key|x-auth-[a-z]{1,20}|cookie)\\{0,4}["']?\s{0,3}[:=]\s{0,3}(?:b(?=["']))?\\{0,4}["']?"""
    rf"""(?:(?:bearer|basic|token|apikey|bot|negotiate)\s{{1,3}})?)(?:{_SAME_LINE}[^\s"',;])+"""
    rf"""(?:;(?:{_SAME_LINE}[^"'])*)?""",
    re.IGNORECASE,
)
_SIGNED = re.compile(r"((?:digest|aws4-hmac-sha256|oauth)\s{1,3}(?=[a-z_]{2,30}=)).+", re.IGNORECASE)
_BEARER = re.compile(r"(\b(?:bearer|basic)\s{1,3})(?=[A-Za-z._~+/=-]{0,100}[0-9])[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}|[srp]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|(?:AKIA|ASIA|AROA|AIDA|AGPA)[A-Z0-9]{12,}"
    r"|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|(?<=hooks\.slack\.com/)[^\s\"']+"
    r"|(?<=/api/webhooks/)[^\s\"']+|(?<=api\.telegram\.org/)[^\s\"']+|(?<=\.office\.com/webhook/)[^\s\"']+"
    r"|AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{16,}"
    r"|(?:npm|hf)_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{16,}|SG\.[A-Za-z0-9_-]{16,100}\.[A-Za-z0-9_-]{16,}"
    r"|(?<![_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{2,}(?:\.[A-Za-z0-9_-]*)?"
    r")"
)
_QUERY = re.compile(r"""([?&]key=)[^\s&"']+""", re.IGNORECASE)
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_URL = re.compile(r"://\S+")
_LONG_USER = 20

# Looking for a few short texts is many times as fast as the patterns, and most lines have none of them.
_RULES = (
    (("digest", "aws4", "oauth"), _SIGNED),
    (("authoriz", "x-a", "cookie"), _HEADER),
    (("bearer", "basic"), _BEARER),
    (("pass", "pw", "secret", "token", "credential", "key", "session", "sig", "connection"), _NAMED),
    (("--",), _FLAG),
    (("?key=", "&key="), _QUERY),
    (("sk-", "rk-", "pk-", "k_live_", "k_test_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "_pat_", "glpat-",
      "akia", "asia", "aroa", "aida", "agpa", "xox", "xapp-", "slack", "/api/webhooks/", "telegram", "/webhook/",
      "aiza", "ya29.", "npm_", "hf_", "pypi-", "sg.", "eyj"), _SHAPES),
)  # fmt: skip
_HINTS = tuple(dict.fromkeys(("://", *(hint for hints, _ in _RULES for hint in hints))))


def hide_secrets(text: str) -> str:
    """The text without what looks like a key, a token or a password."""
    if len(text) > CHARS_MAX:
        half, left_out = CHARS_MAX // 2, len(text) - CHARS_MAX
        text = f"{text[:half]}\n… {left_out} characters left out …\n{text[-half:]}"
    if "-----BEGIN" in text:
        text = _KEY_BLOCK.sub(HIDDEN, text)
    low = text.lower()
    if not any(hint in low for hint in _HINTS):
        return text
    return "\n".join(_hide_in_lines(text.split("\n")))


def _hide_in_lines(lines: list[str]) -> Iterator[str]:
    """The value of a name at the end of a line is the next line, as YAML has it; of a block all that is as far in."""
    named: re.Match[str] | None = None
    block = 0
    for line in lines:
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        if bare and block and depth < block:
            block = 0
        if bare and (block or (named and (depth or bare[0] in "\"'" or len(bare.split(None, 1)) == 1))):
            block = block or (depth if named and named["block"] else 0)
            yield f"{line[:depth]}{HIDDEN}"
        else:
            yield _hide_in_line(line)
        if bare:
            named = _NAME_AT_END.search(bare) if bare[-1] in ":=>|+-" else None


def _hide_in_line(line: str) -> str:
    low = line.lower()
    if "://" in low:
        line = _URL.sub(lambda found: _without_password(found[0]), line)
    for hints, pattern in _RULES:
        if any(hint in low for hint in hints):
            line = pattern.sub(_hidden, line)
    return line


def _hidden(found: re.Match[str]) -> str:
    return f"{found[1]}{HIDDEN}" if found.re.groups else HIDDEN


def is_secret_name(name: str) -> bool:
    """Whether an option of this name, as it is written in an address, holds a secret."""
    return _SECRET_NAME.search(unquote(name)) is not None


_SECRET_NAME = re.compile(rf"(?:{_WORDS})\Z|scram_(?:client|server)_key\Z", re.IGNORECASE)


def _without_password(url: str) -> str:
    """From `://` on: what stands between the first colon and the last @ of where a host can be."""
    rest = url[3:]
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    at, colon = rest.rfind("@", 0, end), rest.find(":", 0, end)
    if at < 0 and colon >= 0 and not rest[colon + 1 : end].rstrip(".,;)]}'\"").isdecimal():
        at = rest.rfind("@")  # A password with a slash in it, which nobody has written as %2F.
    if at < 0:
        return url
    if 0 <= colon < at:
        return f"://{rest[:colon]}:{HIDDEN}{rest[at:]}"
    return f"://{HIDDEN}{rest[at:]}" if at >= _LONG_USER else url
