"""The elected leader and its duties: what one worker does for all."""
