-- Tries to hand out text that is no text.
return BT.tree("hostile", { root = BT.action("a.b", { args = { x = "\255\254", y = "\u{D800}" } }) })
