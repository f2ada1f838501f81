"""The facts of a run and everything that is read from them. Pure: no file, no clock, no waiting.

Start with ``facts`` (what a record is made of) and ``recorder`` (how one is written and replayed); ``audit``,
``explain``, ``chunks``, ``timeline`` and ``summary`` read it, ``bus`` hands it on.
"""
