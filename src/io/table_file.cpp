#include "io/table_file.hpp"

#include "base/atomic_file.hpp"
#include "io/hdf5_file.hpp"

namespace pergola {

void write_table_file(const std::filesystem::path& path, const std::vector<std::pair<std::string, std::string>>& texts,
                      const std::vector<FileColumn>& columns) {
  AtomicFile target(path);
  hdf5::File file(target.temporary(), path);
  file.write_attribute("/", "format", "pergola table");
  for (const auto& [name, text] : texts) file.write_attribute("/", name, text);
  for (const FileColumn& column : columns) {
    if (column.numbers)
      file.write_array(column.name, H5T_IEEE_F64LE,
                       {{static_cast<std::int64_t>(column.numbers->size())}, *column.numbers});
    else
      file.write_texts(column.name, *column.words);
    file.write_attribute(column.name, "unit", column.unit);
  }
  file.close();
  target.commit();
}

}  // namespace pergola
