"""Behaviour trees: plain data from Lua files, checked, bounded, drawn, and ticked by Python (section E)."""
