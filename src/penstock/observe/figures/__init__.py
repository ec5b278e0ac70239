"""Figures: counting what a worker does, and how they are read."""
