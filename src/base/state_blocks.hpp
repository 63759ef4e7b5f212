#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace pergola {

/// Named arrays of plain values: what a part of a simulation puts into a checkpoint and takes out of it again, bit for
/// bit.
class StateBlocks {
 public:
  template <class T>
  void put(const std::string& name, const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    blocks_[name].assign(bytes, bytes + values.size() * sizeof(T));
  }
  template <class T>
  void put_value(const std::string& name, T value) {
    put(name, std::vector<T>{value});
  }

  /// Throws Error(input) when the block is missing or not `count` values long.
  template <class T>
  std::vector<T> get(const std::string& name, std::size_t count) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto found = blocks_.find(name);
    if (found == blocks_.end()) throw Error(ErrorKind::input, "checkpoint: block " + name + " is missing");
    if (found->second.size() != count * sizeof(T))
      throw Error(ErrorKind::input, "checkpoint: block " + name + " has " + std::to_string(found->second.size()) +
                                        " bytes, expected " + std::to_string(count * sizeof(T)));
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), found->second.data(), found->second.size());
    return values;
  }
  template <class T>
  T get_value(const std::string& name) const {
    return get<T>(name, 1)[0];
  }

  std::map<std::string, std::vector<std::byte>>& blocks() { return blocks_; }
  const std::map<std::string, std::vector<std::byte>>& blocks() const { return blocks_; }

 private:
  std::map<std::string, std::vector<std::byte>> blocks_;
};

}  // namespace pergola
