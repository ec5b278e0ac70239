"""`penstock demo`: a bounded tour on a store of its own."""

from penstock.cli.demo.command import demo

__all__ = ["demo"]
