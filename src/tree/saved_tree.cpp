#include "tree/saved_tree.hpp"

namespace pergola::tree {

void SavedTree::save(StateBlocks& blocks, const std::string& kind) const {
  blocks.put("tree.kind", std::vector<char>(kind.begin(), kind.end()));
  blocks.put_value("tree.frame", frame);
  blocks.put("tree.order", order);
  blocks.put_value("tree.cells", static_cast<std::int64_t>(link.size()));
  blocks.put("tree.link", link);
  blocks.put("tree.parent", parent);
  blocks.put_value("tree.levels", static_cast<std::int64_t>(level_begin.size()));
  blocks.put("tree.level_begin", level_begin);
  blocks.put_value("tree.accelerations", static_cast<std::int64_t>(acceleration.size()));
  blocks.put("tree.acceleration", acceleration);
  blocks.put_value("tree.spread", spread);
}

bool SavedTree::restore(const StateBlocks& blocks, const std::string& kind, std::int64_t count) {
  const auto found = blocks.blocks().find("tree.kind");
  if (found == blocks.blocks().end() || found->second.size() != kind.size()) return false;
  if (blocks.get<char>("tree.kind", kind.size()) != std::vector<char>(kind.begin(), kind.end())) return false;
  const auto size = [&](const char* name) { return static_cast<std::size_t>(blocks.get_value<std::int64_t>(name)); };
  frame = blocks.get_value<Frame>("tree.frame");
  order = blocks.get<std::uint32_t>("tree.order", static_cast<std::size_t>(count));
  link = blocks.get<CellLink>("tree.link", size("tree.cells"));
  parent = blocks.get<std::uint32_t>("tree.parent", size("tree.cells"));
  level_begin = blocks.get<std::uint32_t>("tree.level_begin", size("tree.levels"));
  acceleration = blocks.get<double>("tree.acceleration", size("tree.accelerations"));
  spread = blocks.get_value<std::int64_t>("tree.spread");
  return true;
}

}  // namespace pergola::tree
