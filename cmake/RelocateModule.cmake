# The module of a build tree that was copied beside its library: it looks there, and no longer in the build tree.  -DMODULE=FILE
file(RPATH_SET FILE ${MODULE} NEW_RPATH "$ORIGIN")
