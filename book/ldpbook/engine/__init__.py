"""The engine of the published book: Python, its libraries and compiled kernels, which run a page in the reader's browser.

`signatures` lists for which types kernels are compiled, and `compile` compiles them for WebAssembly. `finish` makes one module of the
result, and `parts` puts everything into the built site.
"""
