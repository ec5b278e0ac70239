"""What a role needs to enqueue and run jobs, and no more: the statements that its administrator runs."""

from __future__ import annotations

import re

from penstock.domain.errors import ConfigError
from penstock.store.postgres.connection.statements import NAME_CHARS_MAX, quoted

EVERYBODY = ("public", "none")

RIGHTS = {
    "SELECT": ("meta", "capacity"),
    "SELECT, INSERT": ("lane",),
    "SELECT, UPDATE": ("order_number",),
    "SELECT, INSERT, UPDATE": ("job_type", "leader"),
    "SELECT, INSERT, DELETE": ("history", "app_version"),
    "SELECT, INSERT, UPDATE, DELETE": (
        "job",
        "waiting",
        "lease",
        "outcome",
        "unique_key",
        "worker",
        "once",
        "pause",
        "gate",
        "gate_limit",
        "hold",
        "permit",
        "parked",
        "ticket",
        "workflow",
        "step",
        "need",
        "member",
        "schedule",
        "page",
        "figure",
        "tenant_figure",
        "gauge",
        "sample",
        "alert",
        "silence",
    ),
    "INSERT": ("audit",),
}
"""Which rights on which tables: rows that are only ever added can be changed by nobody but the owner."""
SEQUENCES = {"USAGE, UPDATE": ("token",)}
"""Tokens are not only taken: after a crash of the server they are moved on past those that were given out."""


def grants_sql(schema: str, role: str) -> str:
    """Fixed statements over the two names. Safe to run again, which each new version of the schema needs."""
    space, name = quoted(schema), quoted_role(role)
    lines = [
        f"-- What the role {role} needs for penstock in the schema {schema}: to enqueue, to run workers, to look.",
        "-- Run it as the owner of the schema, once it is there, and again after each migration.",
        "BEGIN;",
        f"GRANT USAGE ON SCHEMA {space} TO {name};",
    ]
    for rights, tables in RIGHTS.items():
        lines.append(f"GRANT {rights} ON {', '.join(f'{space}.{table}' for table in tables)} TO {name};")
    for rights, sequences in SEQUENCES.items():
        lines.append(
            f"GRANT {rights} ON SEQUENCE {', '.join(f'{space}.{sequence}' for sequence in sequences)} TO {name};"
        )
    lines += [
        f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {space} TO {name};",
        "COMMIT;",
    ]
    return "\n".join(lines) + "\n"


def quoted_role(role: str) -> str:
    """A role as an identifier, or an error. Upper case and dashes are common here, unlike in names of schemas."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.@$-]*", role) or len(role) > NAME_CHARS_MAX:
        raise ConfigError(
            f"role {role!r} is not possible: letters, digits and _ . @ $ -, beginning with a letter, at most "
            f"{NAME_CHARS_MAX} characters"
        )
    if role in EVERYBODY:
        raise ConfigError(f"role {role!r} means everybody or nobody to PostgreSQL: name the role that the workers use")
    return f'"{role}"'
