"""`python -m penstock` is the command `penstock`."""

from penstock.cli.main import main

main()
