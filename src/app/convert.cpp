// `pergola convert IN OUT`: changes the format of a snapshot.
//
// Steps: (1) options and names of the outputs, (2) one pass over the input that checks it, (3) a second pass that
// writes piece by piece, so that memory does not grow with the file. Rank 0 works alone. Numbers keep their units and,
// in double precision, their bits. What the output's format cannot hold is reported as "not carried over". A failure
// leaves no output behind (WrittenFiles).
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string>
#include <vector>

#include "app/command.hpp"
#include "app/progress.hpp"
#include "app/written_files.hpp"
#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_formats.hpp"
#include "io/snapshot_writer.hpp"

namespace pergola::app {

namespace {

struct ConvertOptions {
  std::string input, output, format = "auto";
  bool single = false, full = false, big_endian = false, overwrite = false;
  int files = 1;
};

/// The names of the formats that can do something.
template <class Can>
std::vector<std::string> formats_that(const Can& can) {
  std::vector<std::string> names;
  for (const auto& entry : snapshot_formats())
    if (can(entry)) names.push_back(entry.name);
  return names;
}

/// Which format `auto` takes for which suffix: ".hdf5 .h5 is hdf5, …".
std::string suffixes_help() {
  std::vector<std::string> texts;
  for (const auto& entry : snapshot_formats()) {
    std::vector<std::string> suffixes = entry.suffixes;
    const bool or_none = std::erase(suffixes, "") > 0;
    texts.push_back(
        fmt::format("{}{} is {}", fmt::join(suffixes, " "), or_none ? ", a number or none" : "", entry.name));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Contradicting options are refused before the input is opened.
void convert(const Context& context, const ConvertOptions& options) {
  WriteOptions write;
  const SnapshotFormatEntry& format = options.format == "auto" ? snapshot_format(format_from_name(options.output))
                                                               : *find_snapshot_format(options.format);
  write.format = format.format;
  write.big_endian = options.big_endian;
  write.threads = context.threads;
  write.files = options.files;
  if (options.big_endian && !format.can.byte_order)
    throw Error(ErrorKind::input,
                fmt::format("--big-endian: {} has no byte order, expected {}", format.name,
                            fmt::join(formats_that([](const auto& one) { return one.can.byte_order; }), " or ")));
  if (options.single && options.full)
    throw Error(ErrorKind::input, "--single and --double exclude each other, expected at most one of them");
  if (options.files > 1 && !format.can.sets)
    throw Error(ErrorKind::input, fmt::format("--files: {} is one file, found {}", format.name, options.files));
  const std::vector<std::filesystem::path> outputs = files_of_snapshot(options.output, options.files);

  WaitLine wait(context, "convert");
  wait.begins("reading " + options.input);
  SnapshotSource source(options.input, context.threads);
  const SnapshotSummary& input = source.summary();
  for (const auto& output : outputs) {
    refuse_input_as_output("OUT", output.string(), input.files);
    check_output_file(output.string(), options.overwrite);
  }
  const bool asked = options.single || options.full;
  write.single_precision = asked ? options.single : format.single_precision.value_or(input.header.single_precision);
  const SnapshotContents contents = source.check();
  wait.begins("writing " + options.output);
  WrittenFiles files(outputs);
  write_snapshot(options.output, input.header, source, contents, write);
  wait.end();
  std::vector<std::string> lost = input.not_carried;
  for (auto& name : not_carried(input.header, contents.potential, format)) lost.push_back(std::move(name));
  note_lost(context, lost, input.header, options.input);
  if (!context.json)
    context.remark(fmt::format("{}: {} particles as {} in {} precision{}", options.output, source.count(), format.name,
                               write.single_precision ? "single" : "double",
                               options.files > 1 ? fmt::format(", {} files", options.files) : ""));
  std::uintmax_t bytes = 0;
  for (const auto& file : outputs) bytes += std::filesystem::file_size(file);
  files.print_and_keep(context, "",
                       {{"input", options.input},
                        {"output", options.output},
                        {"format", format.name},
                        {"precision", write.single_precision ? "single" : "double"},
                        {"n", source.count()},
                        {"not_carried", lost},
                        {"files", options.files},
                        {"bytes", bytes}});
}

}  // namespace

void add_convert(Command program, Context& context) {
  auto command = program.add_subcommand("convert", "Change the format of a snapshot");
  auto options = std::make_shared<ConvertOptions>();
  command->add_option("IN", options->input, "Snapshot in any format; in several files: any one, or their common name")
      ->required();
  command->add_option("OUT", options->output, "File to write")->required();
  std::vector<std::string> names = formats_that([](const auto&) { return true; });
  const std::string last = names.back();
  names.insert(names.begin(), "auto");
  command
      ->add_option("--format", options->format,
                   fmt::format("{} or {}. auto goes by the name of OUT: {}",
                               fmt::join(names.begin(), names.end() - 1, ", "), last, suffixes_help()))
      ->one_of(names);
  command->add_flag("--single", options->single, "Write numbers in single precision");
  command->add_flag("--double", options->full,
                    "Write numbers in double precision. Without either: as the input, single for gadget1 and gadget2, "
                    "double for csv");
  command->add_flag("--big-endian", options->big_endian, "Write gadget1 or gadget2 in big-endian byte order");
  command->add_option("--files", options->files, "Write a set of so many files, OUT.0.hdf5 and so on (1)")
      ->transform(integer_in(Range::between(1, 4096)))
      ->type_name("N");
  command->add_flag("--overwrite", options->overwrite, "Replace an existing file");
  command->footer("Example:\n  pergola convert cluster.hdf5 cluster.g2 --double");
  command->callback([&context, options] { on_root(*context.communicator, [&] { convert(context, *options); }); });
}

}  // namespace pergola::app
