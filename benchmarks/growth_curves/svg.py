"""Writes SVG by hand: elements, text, and the style that makes a plot readable on light and dark pages."""

from __future__ import annotations

from typing import Literal
from xml.sax.saxutils import escape, quoteattr

Anchor = Literal["start", "middle", "end"]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
CHARACTER_SHARE = 0.6
"""How wide a character is at most on average, as a share of the size of the text: fonts differ by system."""

# The card is drawn, not left out: a page may be dark although the system is light.
STYLE = f"""
:root {{
  --card: #fbfbfa; --edge: #d9d9d6; --text: #24292f; --soft: #5b636b; --grid: #e4e4e1; --target: #8a6d00;
  --sqlite: #0b63b8; --postgres: #b3470b;
}}
@media (prefers-color-scheme: dark) {{
  :root {{
    --card: #16191d; --edge: #343a41; --text: #e6e8ea; --soft: #a3abb3; --grid: #2b3037; --target: #d9b74a;
    --sqlite: #6db3f7; --postgres: #f79a5e;
  }}
}}
text {{ font-family: {FONT}; fill: var(--text) }}
.soft {{ fill: var(--soft) }}
.bold {{ font-weight: 600 }}
.card {{ fill: var(--card); stroke: var(--edge) }}
.grid {{ stroke: var(--grid); fill: none }}
.axis {{ stroke: var(--soft); fill: none }}
.target {{ stroke: var(--target); stroke-dasharray: 6 5; opacity: .75; fill: none }}
text.of-target {{ fill: var(--target) }}
text.of-target, text.own {{ paint-order: stroke; stroke: var(--card); stroke-width: 4px }}
.sqlite {{ --own: var(--sqlite) }}
.postgres {{ --own: var(--postgres) }}
.line {{ stroke: var(--own); stroke-width: 2; fill: none; stroke-linejoin: round }}
.spread {{ stroke: var(--own); stroke-width: 1.5; opacity: .4; fill: none }}
.mark {{ fill: var(--own); stroke: var(--card); stroke-width: 1 }}
text.own {{ fill: var(--own) }}
"""


def element(name: str, content: str = "", **attributes: object) -> str:
    """Attributes are named with _ for -, and class_ for class; numbers are written short. The content is markup."""
    words = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(number(value) if isinstance(value, float) else str(value))}"
        for key, value in attributes.items()
    )
    return f"<{name}{words}>{content}</{name}>" if content else f"<{name}{words}/>"


def text(
    content: str, x: float, y: float, size: int = 12, anchor: Anchor = "start", class_: str = "", turned: bool = False
) -> str:
    """`turned` is written from bottom to top."""
    extra: dict[str, object] = {"class_": class_} if class_ else {}
    if anchor != "start":
        extra["text_anchor"] = anchor
    if turned:
        extra["transform"] = f"rotate(-90 {number(x)} {number(y)})"
    return element("text", escape(content), x=x, y=y, font_size=size, **extra)


def document(width: int, height: int, title: str, description: str, parts: list[str]) -> str:
    """A whole file, with a title and a description for those who do not see it."""
    head = [
        element("title", escape(title), id="title"),
        element("desc", escape(description), id="desc"),
        element("style", escape(STYLE)),
        element("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=8, class_="card"),
    ]
    return element(
        "svg",
        "\n".join(["", *head, *parts, ""]),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_labelledby="title desc",
    )


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def text_width(content: str, size: int) -> float:
    """About how wide it is, rather more than less."""
    return len(content) * size * CHARACTER_SHARE


def wrapped(content: str, size: int, width: float, between: str = " · ") -> list[str]:
    """Lines that are not wider than this, broken only where `between` stands."""
    lines: list[str] = []
    for part in content.split(between):
        longer = f"{lines[-1]}{between}{part}" if lines else part
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines
