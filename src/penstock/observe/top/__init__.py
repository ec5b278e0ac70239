"""What goes on in a store right now: from the figures, the sample and the workers to rows and sentences. All but look()
is pure.
"""
