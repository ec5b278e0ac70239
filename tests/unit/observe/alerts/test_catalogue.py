"""The rules as people name them."""

from __future__ import annotations

import pytest

from penstock.domain.errors import ConfigError
from penstock.observe.alerts.catalogue import RULES, check_rule
from penstock.observe.alerts.settings import AlertSettings

ASKED = {
    "high_timeout_rate": ("warning", 10), "no_active_workers": ("critical", None),
    "dead_letter_buildup": ("warning", 100), "stale_jobs": ("warning", 300), "final_failure": ("warning", None),
    "critical_dead_letter": ("high", None), "missed_schedule": ("warning", 60), "unroutable_jobs": ("warning", None),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_each_is_as_severe_as_was_asked(name: str) -> None:
    assert (RULES[name].severity, RULES[name].threshold) == ASKED[name]


def test_the_critical_types_are_those_that_were_asked() -> None:
    assert AlertSettings().critical_types == ("data-deletion", "webhook-dispatch", "audit-export")


def test_a_threshold_has_a_unit() -> None:
    assert all((rule.threshold is None) == (rule.unit is None) for rule in RULES.values())


def test_an_unknown_name_is_an_error_that_names_the_nearest() -> None:
    assert check_rule("stale_jobs") == "stale_jobs"
    with pytest.raises(ConfigError, match="did you mean stale_jobs"):
        check_rule("stale_job")
    with pytest.raises(ConfigError, match="the rules are: high_timeout_rate, "):
        check_rule("x")
