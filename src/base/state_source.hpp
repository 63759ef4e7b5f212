#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
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

/// One named array of a state that can be copied out in pieces.
struct StateRange {
  std::string name;
  std::size_t value_bytes = 1;  // of one value
  std::int64_t count = 0;
  /// Values first … first + n − 1 to host memory.
  std::function<void(std::int64_t first, std::int64_t n, void* to)> copy;
  bool per_particle = false;  // a value for each particle, in the order of the input
  std::int64_t total = 0;     // above 0: values of all ranks, of which this one has its share (comm/shares.hpp)

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(count) * value_bytes; }
};

/// What a part of a simulation puts into a checkpoint, as named ranges in the order of their names.
///
/// A writer copies the ranges piece by piece, so that no second copy of the state is needed. Ranges refer to the living
/// state and are valid until it changes. Names and bytes are those of StateBlocks.
class StateSource {
 public:
  /// `copy` is called while the source is used.
  void put_range(std::string name, std::size_t value_bytes, std::int64_t count,
                 std::function<void(std::int64_t, std::int64_t, void*)> copy, bool per_particle = false) {
    StateRange range{std::move(name), value_bytes, count, std::move(copy), per_particle};
    const auto before = [](const StateRange& one, const StateRange& other) { return one.name < other.name; };
    const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), range, before);
    if (at != ranges_.end() && at->name == range.name)
      *at = std::move(range);
    else
      ranges_.insert(at, std::move(range));
  }

  /// Values that are kept here.
  template <class T>
  void put(std::string name, std::vector<T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    put_range(std::move(name), sizeof(T), static_cast<std::int64_t>(kept->size()),
              [kept](std::int64_t first, std::int64_t n, void* to) {
                if (n > 0) std::memcpy(to, kept->data() + first, static_cast<std::size_t>(n) * sizeof(T));
              });
  }
  /// A rank's share of `total` values of all ranks.
  template <class T>
  void put_share(const std::string& name, std::vector<T> values, std::int64_t total) {
    put(name, std::move(values));
    for (StateRange& range : ranges_)
      if (range.name == name) range.total = total;
  }
  template <class T>
  void put_value(std::string name, T value) {
    put(std::move(name), std::vector<T>{value});
  }
  /// All blocks of a part that gives no ranges.
  void put_blocks(StateBlocks blocks) {
    for (auto& [name, bytes] : blocks.blocks()) put(name, std::move(bytes));
  }

  const std::vector<StateRange>& ranges() const { return ranges_; }

  /// Copies of everything.
  StateBlocks blocks() const {
    StateBlocks all;
    for (const StateRange& range : ranges_) {
      auto& bytes = all.blocks()[range.name];
      bytes.resize(static_cast<std::size_t>(range.bytes()));
      range.copy(0, range.count, bytes.data());
    }
    return all;
  }

 private:
  std::vector<StateRange> ranges_;
};

/// Reads a saved state in pieces, from a checkpoint file or from blocks in memory. Messages as those of StateBlocks.
class StateInput {
 public:
  virtual ~StateInput() = default;
  virtual std::vector<std::string> names() const = 0;
  virtual bool has(const std::string& name) const = 0;
  /// Throws Error(input) if there is no such block.
  virtual std::uint64_t bytes(const std::string& name) const = 0;
  /// `bytes` bytes of a block from its byte `first` on.
  virtual void read(const std::string& name, std::uint64_t first, void* to, std::uint64_t bytes) = 0;

  /// Throws Error(input) when the block is missing or not `count` values long.
  template <class T>
  void expect(const std::string& name, std::int64_t count) const {
    const std::uint64_t expected = static_cast<std::uint64_t>(count) * sizeof(T);
    if (!has(name)) throw Error(ErrorKind::input, "checkpoint: block " + name + " is missing");
    if (bytes(name) != expected)
      throw Error(ErrorKind::input, "checkpoint: block " + name + " has " + std::to_string(bytes(name)) +
                                        " bytes, expected " + std::to_string(expected));
  }
  template <class T>
  std::vector<T> get(const std::string& name, std::int64_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    expect<T>(name, count);
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) read(name, 0, values.data(), values.size() * sizeof(T));
    return values;
  }
  template <class T>
  T get_value(const std::string& name) {
    return get<T>(name, 1)[0];
  }
  /// All blocks, for readers that need them as a whole.
  StateBlocks blocks() {
    StateBlocks all;
    for (const std::string& name : names()) {
      auto& block = all.blocks()[name];
      block.resize(static_cast<std::size_t>(bytes(name)));
      read(name, 0, block.data(), block.size());
    }
    return all;
  }
};

/// Blocks in memory, which the caller keeps.
class BlocksInput final : public StateInput {
 public:
  explicit BlocksInput(const StateBlocks& blocks) : blocks_(blocks) {}
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, bytes] : blocks_.blocks()) all.push_back(name);
    return all;
  }
  bool has(const std::string& name) const override { return blocks_.blocks().contains(name); }
  std::uint64_t bytes(const std::string& name) const override { return block(name).size(); }
  void read(const std::string& name, std::uint64_t first, void* to, std::uint64_t bytes) override {
    const auto& from = block(name);
    if (first > from.size() || bytes > from.size() - first)
      throw Error(ErrorKind::input, "checkpoint: block " + name + " has " + std::to_string(from.size()) +
                                        " bytes, expected " + std::to_string(first + bytes));
    if (bytes > 0) std::memcpy(to, from.data() + first, bytes);
  }

 private:
  const std::vector<std::byte>& block(const std::string& name) const {
    const auto found = blocks_.blocks().find(name);
    if (found == blocks_.blocks().end()) throw Error(ErrorKind::input, "checkpoint: block " + name + " is missing");
    return found->second;
  }
  const StateBlocks& blocks_;
};

}  // namespace pergola
