"""Runs on many machines: handed out over PostgreSQL by Procrastinate, to as many workers as there are.

The record is the journal; the engine hands out, keeps leases and wakes. Needs ``pip install endstop[scale]``.
"""
