#include "outputs/toy_output.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "outputs/csv_log.hpp"
#include "outputs/schedule.hpp"

namespace pergola {

namespace {

double interval(const RunConfig& config) {
  const auto found = config.output.more.find(toy_key().path);
  return found == config.output.more.end() ? toy_key().default_value : found->second;
}

class ToyOutput final : public Output {
 public:
  using Output::Output;

  double next_time() const override { return clock_.next(); }
  bool due(const Moment& now) override { return clock_.next() <= now.time; }
  void write(const Moment& now) override {
    context_.on_root([&] { log_.add(fmt::format("{},{}", to_text(now.system.time()), now.system.size())); });
    clock_.skip_to(now.time);
  }
  void begin(System& system) override { open(system, 0); }
  void resume(System& system, const OutputMemory& memory) override {
    open(system, static_cast<std::int64_t>(memory.at("toy_rows")));
    clock_.set_index(static_cast<std::int64_t>(memory.at("toy_index")));
  }
  void save(OutputMemory& memory) const override {
    memory["toy_rows"] = static_cast<double>(log_.rows());
    memory["toy_index"] = static_cast<double>(clock_.index());
  }

 private:
  void open(System& system, std::int64_t rows) {
    clock_ = OutputClock(system.start_time(), interval(context_.config), context_.config.run.end_time);
    context_.on_root([&] { log_ = CsvLog(context_.directory / "toy.csv", "time,particles", rows); });
  }

  CsvLog log_;
  OutputClock clock_;
};

}  // namespace

NumberKey toy_key() { return {"output.toy_every", "time between lines of toy.csv; 0: none", Range::at_least(0), 0}; }

OutputEntry toy_output() {
  return {.name = "toy",
          .keys = {toy_key().path},
          .files = {"toy.csv"},
          .make = [](OutputContext& context) -> std::unique_ptr<Output> {
            if (interval(context.config) == 0) return nullptr;
            return std::make_unique<ToyOutput>(context);
          }};
}

}  // namespace pergola
