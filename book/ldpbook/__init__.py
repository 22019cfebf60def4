"""Provide the functions that the book's pages import, and the commands that build, check, serve and release the book."""
