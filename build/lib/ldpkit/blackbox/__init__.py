"""Audits of anybody's client: a function, a program, a process or recordings of reports."""
