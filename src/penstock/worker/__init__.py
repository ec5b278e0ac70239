"""Runs jobs: claims, executes and finishes them, overlapped, and says that it is alive."""
