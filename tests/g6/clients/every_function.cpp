// The same program as C++.
#include "every_function.c"
