#pragma once
#include <cstdint>
#include <vector>

namespace pergola::g6 {

/// Which addresses of the j-memory hold the particle with a given index. An index is any int; several addresses may
/// hold the same one.
class IndexMap {
 public:
  static constexpr std::int32_t none = -1;

  /// Notes that `address` holds the particle `index` from now on.
  void set(std::int32_t address, std::int32_t index) {
    if (address >= size()) links_.resize(static_cast<std::size_t>(address) + 1);
    Link& link = at(address);
    if (link.used && link.index == index) return;
    if (link.used) take_out(address);
    Entry& entry = entry_for(index);
    link = {true, index, none, entry.first};
    if (entry.first != none) at(entry.first).previous = address;
    entry.first = address;
  }

  /// The first address that holds the index, in no particular order, and the one after it; `none` at the end.
  std::int32_t first(std::int32_t index) const {
    if (table_.empty()) return none;
    const Entry& entry = table_[find(index)];
    return entry.used ? entry.first : none;
  }
  std::int32_t next(std::int32_t address) const { return links_[static_cast<std::size_t>(address)].next; }

  /// Whether no other address holds the same index.
  bool alone(std::int32_t address) const {
    const Link& link = links_[static_cast<std::size_t>(address)];
    return link.previous == none && link.next == none;
  }

  bool holds(std::int32_t address) const {
    return address >= 0 && address < size() && links_[static_cast<std::size_t>(address)].used;
  }
  std::int32_t index(std::int32_t address) const { return links_[static_cast<std::size_t>(address)].index; }

 private:
  /// Addresses with the same index form a list.
  struct Link {
    bool used = false;
    std::int32_t index = 0;
    std::int32_t previous = none, next = none;
  };
  struct Entry {
    bool used = false;
    std::int32_t index = 0;
    std::int32_t first = none;
  };

  std::int32_t size() const { return static_cast<std::int32_t>(links_.size()); }
  Link& at(std::int32_t address) { return links_[static_cast<std::size_t>(address)]; }

  void take_out(std::int32_t address) {
    const Link& link = at(address);
    if (link.next != none) at(link.next).previous = link.previous;
    if (link.previous != none)
      at(link.previous).next = link.next;
    else
      table_[find(link.index)].first = link.next;
  }

  /// Where the index stands in the table, or the free entry where it would stand. Linear probing.
  std::size_t find(std::int32_t index) const {
    const std::size_t mask = table_.size() - 1;
    const std::uint64_t mixed = static_cast<std::uint32_t>(index) * std::uint64_t{0x9e3779b97f4a7c15};
    std::size_t k = static_cast<std::size_t>(mixed >> 32) & mask;
    while (table_[k].used && table_[k].index != index) k = (k + 1) & mask;
    return k;
  }

  Entry& entry_for(std::int32_t index) {
    if (2 * (entries_ + 1) > table_.size()) rebuild();
    Entry& entry = table_[find(index)];
    if (!entry.used) {
      entry = {true, index, none};
      ++entries_;
    }
    return entry;
  }

  /// A larger table, without the indices that no address holds any more.
  void rebuild() {
    std::vector<Entry> old(1024);
    old.swap(table_);
    std::size_t living = 0;
    for (const Entry& entry : old) living += entry.used && entry.first != none;
    while (table_.size() < 4 * (living + 1)) table_.resize(2 * table_.size());
    entries_ = living;
    for (const Entry& entry : old)
      if (entry.used && entry.first != none) table_[find(entry.index)] = entry;
  }

  std::vector<Link> links_;   // by address
  std::vector<Entry> table_;  // by hash of the index; a power of two long
  std::size_t entries_ = 0;
};

}  // namespace pergola::g6
