-- Tries to use names that are no text.
return BT.tree("\255", { ["\254"] = 1, root = BT["\253"]("\252", { ["\251"] = "\250" }) })
