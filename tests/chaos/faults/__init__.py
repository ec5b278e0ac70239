"""One file per kind of harm. A function with @fault(row=…) is a run of its own."""
