"""`penstock config`: every setting, its value and where it came from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.input.options import AsJson, ConfigFile
from penstock.cli.output.say import say
from penstock.cli.output.tables import clean, print_json, show, table, text
from penstock.cli.running.guard import guarded
from penstock.domain.errors import ConfigError

if TYPE_CHECKING:
    from penstock.config.load import Config, Setting


@guarded
def config(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="Only this one, with its meaning.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    path: ConfigFile = None,
) -> None:
    """Show every setting and where it came from: a default, the config file or the environment.

    \b
    penstock config
    penstock config worker.concurrency
    penstock config --config deploy/penstock.toml --json
    """
    from penstock.config.load import load

    loaded = load(path)
    chosen = list(loaded.settings.values()) if key is None else [_find(loaded, key)]
    if as_json:
        print_json({"file": loaded.file, "settings": {setting.key.name: _plain(setting) for setting in chosen}})
    elif key is None:
        _show_all(loaded)
    else:
        _show_one(chosen[0])


def _find(loaded: Config, name: str) -> Setting:
    from penstock.config.keys import unknown

    if name not in loaded.settings:
        raise ConfigError(unknown(name, loaded.settings))
    return loaded.settings[name]


def _plain(setting: Setting) -> dict[str, Any]:
    """For programs: durations in seconds, sizes in bytes, null for what is off."""
    value = setting.shown if setting.key.kind.secret and setting.value else setting.value
    return {"value": value, "source": setting.source}


def _show_all(loaded: Config) -> None:
    made = table("key", "value", "source")
    for setting in loaded.settings.values():
        source = os.path.basename(setting.source) if setting.source == loaded.file else setting.source
        made.add_row(setting.key.name, text(setting.shown), text(source))
    file = loaded.file or "none (there is no penstock.toml in the current folder)"
    show(made, f"\nconfig file: {file}")


def _show_one(setting: Setting) -> None:
    key = setting.key
    group, _, last = key.name.rpartition(".")
    lines = [
        ("meaning", key.help),
        ("value", clean(setting.shown)),
        ("source", clean(setting.source)),
        ("default", key.show(key.default)),
        ("takes", f"{key.form}, such as {key.kind.example}"),
        ("file", f"{last} = …, under [{group}]" if group else f"{last} = …, above all tables"),
        ("variable", key.variable),
        ("flag", f"{key.flag} of penstock worker" if key.flag else "none"),
    ]
    say("\n".join([key.name, *(f"  {name:<9} {value}" for name, value in lines)]))
