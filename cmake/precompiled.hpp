// Foreign headers that most files include, compiled once for each target; see pergola_precompile() in
// PergolaCompiler.cmake. Files include what they use all the same.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
