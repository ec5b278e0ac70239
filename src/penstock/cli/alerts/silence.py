"""`penstock alerts silence` and `unsilence`: nobody is told of a rule for a while. It is looked at all the same."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.alerts.list import silence_document, told_silence
from penstock.cli.input.actor import whoami
from penstock.cli.input.moments import parse_patience
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.say import say
from penstock.cli.output.tables import clean, one_line, print_json
from penstock.cli.running.guard import guarded

LASTS = "1h"

Rule = Annotated[str, typer.Argument(metavar="RULE", help="The rule, as penstock alerts list has it.")]
Scope = Annotated[str | None, typer.Option("--scope", metavar="S", help="Only of this, such as one job type.")]


@guarded
def silence_alerts(
    rule: Rule,
    scope: Scope = None,
    lasts: Annotated[str, typer.Option("--for", metavar="D", help="For how long.")] = LASTS,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why, for your colleagues.")] = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Silence a rule: nobody is told that it fires, for a while.

    It is looked at all the same: what still fires when the silence is over is told then. That something is over which
    was told before is told in a silence, too. Silencing again begins anew.

    \b
    penstock alerts silence dead_letter_buildup --for 2h --reason "being retried"
    penstock alerts silence final_failure --scope send_email
    """
    from penstock.observe.alerts.catalogue import check_rule, check_scope
    from penstock.store.contract import SilenceAlerts

    rule, lasting = check_rule(rule), parse_patience(lasts, "--for")
    asked = SilenceAlerts(rule=rule, scope=check_scope(rule, scope), seconds=lasting, actor=whoami(), reason=reason)
    with existing_store(store) as opened:
        found, now = opened.silence_alerts(asked).wait(), opened.read_clock().wait()
    assert found is not None
    if as_json:
        print_json({"silenced": silence_document(found)})
    else:
        say(clean(one_line(f"silenced: {told_silence(found, now)}")))


@guarded
def unsilence_alerts(rule: Rule, scope: Scope = None, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """End a silence: what fires is told with the next look, within seconds.

    \b
    penstock alerts unsilence dead_letter_buildup
    penstock alerts unsilence final_failure --scope send_email
    """
    from penstock.observe.alerts.catalogue import check_rule
    from penstock.store.contract import SilenceAlerts

    asked = SilenceAlerts(rule=check_rule(rule), scope=scope, seconds=None, actor=whoami())
    with existing_store(store) as opened:
        found = opened.silence_alerts(asked).wait()
    if as_json:
        print_json({"ended": None if found is None else silence_document(found)})
        return
    which = rule if scope is None else f"{rule} for {scope}"
    say(clean(one_line(f"{which} is told again" if found is not None else f"{which} was not silenced")))
