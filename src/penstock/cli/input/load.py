"""Finds the App that MODULE:APP means. Every way in which that fails has its own message with the fix."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from penstock.domain.errors import ConfigError, PenstockError

if TYPE_CHECKING:
    from penstock.app import App

EXAMPLE = "write it like tasks:app for `app = App(...)` in tasks.py"


def load_app(target: str) -> App:
    """The App behind MODULE:APP, with at least one job. The current folder is searched first."""
    module_name, name = _split(target)
    _search_current_folder()
    app = _find_app(_module(module_name), module_name, name)
    if len(app.registry) == 0:
        raise ConfigError(
            f"{target} declares no jobs: declare one with @app.job, "
            f"and import the modules that declare them in {module_name}"
        )
    return app


def _split(target: str) -> tuple[str, str]:
    module, colon, name = target.partition(":")
    if not colon or not module or not name:
        raise ConfigError(f"{target!r} is not MODULE:APP: {EXAMPLE}")
    if "/" in module or os.sep in module or module.endswith(".py"):
        dotted = module.removesuffix(".py").strip("./").replace(os.sep, ".").replace("/", ".")
        raise ConfigError(f"{module!r} is a path; MODULE is a module's name with dots, here: {dotted}:{name}")
    if not all(part.isidentifier() for part in module.split(".")):
        raise ConfigError(f"{module!r} cannot be the name of a module: {EXAMPLE}")
    return module, name


def _search_current_folder() -> None:
    folder = os.getcwd()
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def _module(name: str) -> ModuleType:
    try:
        return _running_as_main(name) or importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise ConfigError(
                f"there is no module {error.name!r}: it is not in the current folder ({os.getcwd()}) "
                "and not installed; change to the folder that holds it, or correct the name"
            ) from None
        _raised(name, error)
    except (Exception, SystemExit) as error:
        _raised(name, error)


def _running_as_main(name: str) -> ModuleType | None:
    """The running script itself, if `name` is the same file: a second copy would declare its jobs on another App."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if main is None or file is None or name in sys.modules:
        return None
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or os.path.realpath(spec.origin) != os.path.realpath(file):
        return None
    sys.modules[name] = main
    return main


def _raised(name: str, error: BaseException) -> NoReturn:
    kind = type(error).__name__
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be shown)"
    raise PenstockError(
        f"the module {name!r} cannot be imported: {kind}: {message} (at {_place(error)}); correct it and start again"
    ) from None


def _place(error: BaseException) -> str:
    """file:line of the user's code that raised, not of the import machinery or of this library."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    own = str(Path(__file__).parents[2]) + os.sep
    frames = traceback.extract_tb(error.__traceback__)
    users = [f for f in frames if not f.filename.startswith((own, "<frozen", importlib.__path__[0]))]
    return f"{users[-1].filename}:{users[-1].lineno}" if users else "an unknown place"


def _find_app(module: ModuleType, module_name: str, name: str) -> App:
    from penstock.app import App

    if not hasattr(module, name):
        found = [key for key, value in vars(module).items() if isinstance(value, App)]
        which = f"it has: {', '.join(f'{module_name}:{key}' for key in found)}" if found else "it has no App at all"
        raise ConfigError(f"the module {module_name!r} ({module.__file__}) has no {name!r}; {which}")
    value = getattr(module, name)
    if isinstance(value, App):
        return value
    called = f"; a function is not called: write `app = {name}()` in the module" if callable(value) else ""
    raise ConfigError(f"{module_name}:{name} is a {type(value).__name__}, not a penstock.App{called}; {EXAMPLE}")
