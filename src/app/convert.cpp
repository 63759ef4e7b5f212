#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "app/command.hpp"
#include "base/error.hpp"
#include "io/snapshot.hpp"

namespace pergola::app {

namespace {

const std::map<std::string, SnapshotFormat> formats{{"hdf5", SnapshotFormat::hdf5},
                                                    {"gadget1", SnapshotFormat::gadget1},
                                                    {"gadget2", SnapshotFormat::gadget2},
                                                    {"csv", SnapshotFormat::csv}};

struct ConvertOptions {
  std::string input, output, format = "auto";
  bool single = false, big_endian = false;
};

std::string format_name(SnapshotFormat format) {
  for (const auto& [name, value] : formats)
    if (value == format) return name;
  return "";
}

void convert(const Context& context, const ConvertOptions& options) {
  WriteOptions write;
  write.format = options.format == "auto" ? format_from_name(options.output) : formats.at(options.format);
  write.single_precision = options.single;
  write.big_endian = options.big_endian;
  const std::string format = format_name(write.format);
  if (options.big_endian && !format.starts_with("gadget"))
    throw Error(ErrorKind::input,
                fmt::format("--big-endian: {} has no byte order, expected gadget1 or gadget2", format));
  if (!context.speaks()) return;

  const Snapshot snapshot = read_snapshot(options.input);
  write_snapshot(options.output, snapshot, write);
  const auto& header = snapshot.header;
  if (format == "csv" && (header.time != 0 || header.box_size != 0 || header.units || header.hubble_param))
    context.remark("note: CSV keeps the particles only; time, box, units and cosmology of the input are not in it");
  if (context.json)
    context.print(nlohmann::json{{"input", options.input},
                                 {"output", options.output},
                                 {"format", format},
                                 {"n", snapshot.particles.size()},
                                 {"bytes", std::filesystem::file_size(options.output)}});
  else
    context.remark(fmt::format("{}: {} particles as {}", options.output, snapshot.particles.size(), format));
}

}  // namespace

void add_convert(Command program, Context& context) {
  auto command = program.add_subcommand("convert", "Change the format of a snapshot");
  auto options = std::make_shared<ConvertOptions>();
  command->add_option("IN", options->input, "Snapshot in any format; in several files: any one, or their common name")
      ->required();
  command->add_option("OUT", options->output, "File to write")->required();
  command
      ->add_option("--format", options->format,
                   "auto, hdf5, gadget1, gadget2 or csv. auto goes by the name of OUT: .hdf5 .h5 is hdf5, .csv is csv, "
                   ".g2 .gadget2 is gadget2, anything else is gadget1")
      ->one_of({"auto", "hdf5", "gadget1", "gadget2", "csv"});
  command->add_flag("--single", options->single, "Write numbers in single precision");
  command->add_flag("--big-endian", options->big_endian, "Write gadget1 or gadget2 in big-endian byte order");
  command->footer("Example:\n  pergola convert cluster.hdf5 cluster.g2 --single");
  command->callback([&context, options] { convert(context, *options); });
}

}  // namespace pergola::app
