"""The pure core: decides whether a run may go on. It cannot wait, read a clock or touch a file.

Start with ``governor`` (the decision), ``ledger`` (the books) and ``detectors`` (what is stuck).
"""
