"""Code that runs in the engine itself: the shell of a page's cells, compiled kernels, and the audit of a reader's own client."""
