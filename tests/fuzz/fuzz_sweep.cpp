#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "app/sweep_file.hpp"
#include "fuzz/fuzz.hpp"
#include "support/scratch_folder.hpp"

namespace twinax::test {
namespace {

/// The product of the axes, less the points of one rank over any network but the first; 0 if it is over 1000.
std::size_t count_points(const app::SweepFile& sweep) {
  std::size_t all = 1;
  std::size_t networks = 1;
  std::size_t rank_values = 1;
  bool has_one_rank = false;
  for (const app::Axis& axis : sweep.axes) {
    all *= axis.values.size();
    if (all > 1000) return 0;
    if (axis.key.starts_with("net.") || axis.key.starts_with("collective.")) networks *= axis.values.size();
    if (axis.key != "ranks") continue;
    rank_values = axis.values.size();
    has_one_rank = std::ranges::find(axis.values, "1") != axis.values.end();
  }
  const std::size_t of_one_rank = has_one_rank ? all / rank_values : 0;
  return all - of_one_rank + of_one_rank / networks;
}

/// Everything that is done with a sweep before its runs.
void check(const app::SweepFile& sweep) {
  const std::size_t count = count_points(sweep);
  if (count == 0) return;  // more points would take time, and show nothing new
  const std::vector<app::Point> points = app::points_of(sweep);
  expect(points.size() == count, "a sweep is the product of its axes, one rank over one network");
  std::set<std::string> slugs;
  for (const app::Point& point : points) {
    const int ranks = app::ranks_of(point, 4);
    expect(ranks >= 1, "a point runs on a rank at least");
    (void)is_accepted([&] { (void)app::config_of(sweep, point, ranks); });
    expect(!app::to_line(point).empty(), "a point has a line");
    const std::string slug = app::to_slug(point);
    expect(slug.find('/') == std::string::npos, "a point's slug is a file's name");
    expect(slugs.insert(slug).second, "no two points share a file's name");
    const TomlFile read = parse_toml(app::to_toml(sweep, point), "point.toml");
    expect(read.entries.size() == point.size(), "a point's text is TOML, a line an axis");
  }
}

}  // namespace
}  // namespace twinax::test

/// A sweep's file, and all points that it describes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twinax;
  static const test::ScratchFolder folder;
  const std::string path = folder.write("input.toml", test::text_of(data, size));
  app::SweepFile sweep;
  if (test::is_accepted([&] { sweep = app::read_sweep(path, {}); })) test::check(sweep);
  return 0;
}
