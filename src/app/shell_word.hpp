#pragma once
#include <string>
#include <string_view>

namespace pergola::app {

/// As a word of a command line that is shown to be copied: in quotes where a shell would take it apart.
std::string shell_word(std::string_view text);

}  // namespace pergola::app
