#include "comm/one_machine.hpp"

#include <cstdlib>
#include <string_view>

namespace pergola {

namespace {

KnowsMachines* of_one_machine(Communicator& ranks) {
  return on_one_machine(ranks) ? dynamic_cast<KnowsMachines*>(&ranks) : nullptr;
}

}  // namespace

bool find_machines(Communicator& ranks) {
  auto* const machines = dynamic_cast<KnowsMachines*>(&ranks);
  return machines && machines->find_machines();
}

bool on_one_machine(const Communicator& ranks) {
  const auto* const machines = dynamic_cast<const KnowsMachines*>(&ranks);
  const char* const words = std::getenv("PERGOLA_SHARE_MEMORY");
  return machines && machines->on_one_machine() && !(words && std::string_view(words) == "0");
}

std::shared_ptr<void> share_memory(Communicator& ranks, std::size_t bytes) {
  KnowsMachines* const machine = of_one_machine(ranks);
  return machine ? machine->share_memory(bytes) : nullptr;
}

LentCores* lent_cores(Communicator& ranks) {
  KnowsMachines* const machine = of_one_machine(ranks);
  return machine ? machine->lent_cores() : nullptr;
}

}  // namespace pergola
