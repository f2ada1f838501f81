-- Tries to load a C library.
package.loadlib("libc.so.6", "system")
return BT.tree("hostile", { root = BT.action("a.b") })
