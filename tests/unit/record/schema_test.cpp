#include "twinax/record/schema.hpp"

#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "twinax/record/run_record.hpp"
#include "twinax/record/sweep_index.hpp"

#include "record/environment_attributes.hpp"
#include "support/scratch_folder.hpp"
#include "unit/record/made_records.hpp"
#include "unit/record/stored.hpp"

// results/README.md is the contract of the files: here it is compared with what the program writes.
namespace twinax::record {
namespace {

using test::ScratchFolder;
using test::Stored;
using ::testing::ContainerEq;
using ::testing::HasSubstr;

using Types = std::map<std::string, std::string>;

std::string contract() {
  return test::content_of(TWINAX_RESULTS_README);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(" `");
    const std::size_t last = cell.find_last_not_of(" `");
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

/// The tables under a heading: the type of each name, taken from the column of that title. Rows of tables without the column are left out.
Types documented(const std::string& heading, const std::string& first_column) {
  std::istringstream text(contract());
  Types types;
  bool is_under = false;
  std::ptrdiff_t type_column = -1;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## ")) is_under = line == "## " + heading;
    if (!is_under || !line.starts_with("|")) {
      type_column = -1;
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (type_column >= 0 && !cells[0].starts_with("---")) types[cells[0]] = cells[static_cast<std::size_t>(type_column)];
    if (type_column < 0 && cells[0] == first_column) type_column = std::ranges::find(cells, "type") - cells.begin();
  }
  return types;
}

std::string name_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return "int64";
    case H5T_FLOAT:
      return "float64";
    case H5T_STRING:
      return "string";
    default:
      return "another";
  }
}

/// The types of a group's attributes.
Types attributes_of(const Stored& file, const char* group) {
  Types types;
  const auto collect = [](hid_t object, const char* name, const H5A_info_t*, void* into) -> herr_t {
    const Attribute attribute(H5Aopen(object, name, H5P_DEFAULT));
    const Datatype type(H5Aget_type(attribute.get()));
    (*static_cast<Types*>(into))[name] = name_of(type.get());
    return 0;
  };
  const Group opened(check_hdf5(H5Gopen2(file.file(), group, H5P_DEFAULT), "opening a group", group));
  check_hdf5(H5Aiterate2(opened.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &types), "listing attributes", group);
  return types;
}

TEST(Schema, IsDocumentedColumnForColumn) {
  EXPECT_THAT(contract(), HasSubstr("\n\n" + as_markdown(all_columns()) + "\n"))
      << "results/README.md must hold the schema's table as it is";
  EXPECT_THAT(contract(), HasSubstr("\n\n" + as_markdown(bench_columns()) + "\n"));
  EXPECT_THAT(contract(), HasSubstr("`" + std::string(kRecordSchema) + "`"));
  EXPECT_THAT(contract(), HasSubstr("`" + std::string(kIndexSchema) + "`"));
}

TEST(Schema, DocumentsTheAttributesOfARecord) {
  const ScratchFolder folder;
  RunRecord(folder / "run.h5", test::full_head()).close();
  const Stored file(folder / "run.h5");
  EXPECT_THAT(documented("Attributes of the file", "attribute"), ContainerEq(attributes_of(file, "/")));
  EXPECT_THAT(documented("Attributes of /environment", "attribute"), ContainerEq(attributes_of(file, "/environment")));
  EXPECT_EQ(attributes_of(file, "/environment").size(), environment_names().size());
}

TEST(Schema, DocumentsTheIndexOfASweep) {
  const ScratchFolder folder;
  SweepIndex index{.name = "demo"};
  index.axes = {{"ranks", {"1", "2"}}};
  index.points = {"ranks = 1\n"};
  index.runs = {{"ranks = 1\n", 0, "run.h5"}};
  write_sweep_index(folder / "index.h5", index);
  const Stored file(folder / "index.h5");
  const std::string heading = "The index of a sweep";
  EXPECT_THAT(documented(heading, "attribute"), ContainerEq(attributes_of(file, "/")));
  Types datasets;
  for (const std::string path :
       {"/axes/key", "/axes/values_0", "/points", "/runs/point", "/runs/repeat", "/runs/file", "/trials/point", "/trials/value",
        "/trials/retries", "/trials/outcome", "/trials/reason", "/published/name", "/published/label", "/published/source",
        "/published/where", "/published/efficiency", "/published/speedup", "/published/batch"}) {
    const Dataset dataset(check_hdf5(H5Dopen2(file.file(), path.c_str(), H5P_DEFAULT), "opening", path));
    const Datatype type(H5Dget_type(dataset.get()));
    datasets[path] = name_of(type.get());
  }
  EXPECT_THAT(documented(heading, "dataset"), ContainerEq(datasets));
  EXPECT_EQ(file.names("/").size() + file.names("/axes").size() + file.names("/runs").size() + file.names("/trials").size() +
                file.names("/published").size(),
            5U + 2U + 3U + 5U + 7U);
}

TEST(Schema, NamesEachColumnOnceWithTypeUnitAndHelp) {
  std::set<std::string_view> paths;
  std::vector<Column> columns = all_columns();
  for (const Column& column : bench_columns()) columns.push_back(column);
  for (const Column& column : columns) {
    EXPECT_TRUE(paths.insert(column.path).second) << column.path;
    EXPECT_THAT(column.type, ::testing::AnyOf("int64", "float64", "string")) << column.path;
    EXPECT_FALSE(column.unit.empty()) << column.path;
    EXPECT_FALSE(column.help.empty()) << column.path;
    EXPECT_EQ(column.unit == "-", column.type == "string") << column.path << ": texts have no unit, numbers have one";
  }
}

}  // namespace
}  // namespace twinax::record
