#pragma once
#include "base/atomic_file.hpp"
