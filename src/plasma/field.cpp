// The registry of field solvers, and what all of them do alike: see field.hpp.
//
// A checkpoint has each field of the state once for the whole box, x fastest, as doubles. Slabs are whole tiles, the
// shares of a checkpoint equal ranges: save() exchanges values between them, restore() reads a slab's layers.
#include "plasma/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/shares.hpp"
#include "plasma/host_field.hpp"

namespace pergola {

namespace {

std::vector<PlasmaFieldEntry>& field_registry() {
  static std::vector<PlasmaFieldEntry> entries{electrostatic_entry(), electromagnetic_entry()};
  return entries;
}

std::string saved_name(const std::string& name) { return "plasma.field." + name; }

}  // namespace

std::vector<std::string> plasma_field_names() {
  std::vector<std::string> names;
  for (const auto& entry : field_registry()) names.push_back(entry.name);
  return names;
}

const PlasmaFieldEntry& plasma_field_entry(const PlasmaOptions& options) {
  for (const auto& entry : field_registry())
    if (entry.name == options.field) return entry;
  const std::vector<std::string> names = plasma_field_names();
  const std::string near = nearest_name(options.field, names);
  throw Error(ErrorKind::input,
              fmt::format("plasma.field: expected {}, found \"{}\"{}", fmt::join(names, ", "), options.field,
                          near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

void register_plasma_field(PlasmaFieldEntry entry) { field_registry().push_back(std::move(entry)); }

std::vector<PlasmaFieldPart> plasma_field_parts(const PlasmaOptions& options) {
  return plasma_field_entry(options).parts(options);
}

bool is_displaced(const PlasmaOptions& options, PlasmaFieldPart part, int axis) {
  const int component = axis_of(part);
  if (component < 0 || axis >= options.dimensions || plasma_field_entry(options).gathers == PlasmaGather::electric)
    return false;
  const bool magnetic = part >= magnetic_part(0) && part < current_part(0);
  return magnetic ? component != axis : component == axis;
}

template <class Real>
PlasmaField<Real>::PlasmaField(const Device& device, const PlasmaOptions& options, std::shared_ptr<Communicator> ranks)
    : device_(device), options_(options), ranks_(std::move(ranks)), slab_(options, ranks_.get()) {
  device_.make_current();
}

template <class Real>
std::vector<double> PlasmaField<Real>::values(PlasmaFieldPart part) {
  const auto parts = plasma_field_parts(options_);
  if (part == PlasmaFieldPart::potential || std::find(parts.begin(), parts.end(), part) == parts.end())
    throw Error(ErrorKind::input, "plasma: the field solver " + options_.field + " does not have this field");
  if (part == PlasmaFieldPart::density) return values_on_host(device_, deposited().density.read_only());
  const auto axis = static_cast<std::size_t>(axis_of(part));
  if (part >= current_part(0)) return values_on_host(device_, deposited().current[axis].read_only());
  const auto fields = gathered();
  const auto& field = part >= magnetic_part(0) ? fields.magnetic[axis] : fields.electric[axis];
  const std::int64_t before = (slab_.first - fields.window.first) * slab_.rows_in_layer() * field.pitch;
  return values_on_host(device_, layers(field.data ? field.data + before : nullptr, slab_.count, field.pitch));
}

template <class Real>
void PlasmaField<Real>::save(StateSource& to) {
  for (const auto& [name, own] : state()) {
    std::vector<double> values = values_on_host(device_, own.read_only());
    const std::int64_t total = options_.cell_count();
    if (ranks_) {
      const std::int64_t layer = slab_.rows_in_layer() * options_.cells[0];
      const SlabPlanes slabs = slab_.planes(*ranks_);
      const Shares shares{total, ranks_->size()};
      std::vector<Stretch> has, wants;
      for (int rank = 0; rank < ranks_->size(); ++rank) {
        has.push_back({slabs.first(rank) * layer, slabs.count(rank) * layer});
        wants.push_back({shares.first(rank), shares.count(rank)});
      }
      values = fetch_stretch(*ranks_, has, wants, values.data());
    }
    to.put_share(saved_name(name), std::move(values), total);
  }
}

template <class Real>
void PlasmaField<Real>::restore(StateInput& from) {
  constexpr std::uint64_t bytes = sizeof(double);
  const std::int64_t layer = slab_.rows_in_layer() * options_.cells[0];
  std::vector<double> values(static_cast<std::size_t>(slab_.count * layer));
  for (const auto& [name, own] : state()) {
    from.expect<double>(saved_name(name), options_.cell_count());
    if (values.empty()) continue;
    from.read(saved_name(name), static_cast<std::uint64_t>(slab_.first * layer) * bytes, values.data(),
              values.size() * bytes);
    values_to_device(device_, values, own);
  }
}

template class PlasmaField<float>;
template class PlasmaField<double>;

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field(const Device& device, const PlasmaOptions& options,
                                                     std::shared_ptr<Communicator> ranks) {
  const PlasmaFieldEntry& entry = plasma_field_entry(options);
  if constexpr (std::is_same_v<Real, float>)
    return entry.make_single(device, options, std::move(ranks));
  else
    return entry.make_double(device, options, std::move(ranks));
}
template std::unique_ptr<PlasmaField<float>> make_plasma_field(const Device&, const PlasmaOptions&,
                                                               std::shared_ptr<Communicator>);
template std::unique_ptr<PlasmaField<double>> make_plasma_field(const Device&, const PlasmaOptions&,
                                                                std::shared_ptr<Communicator>);

}  // namespace pergola
