#include <algorithm>
#include <string>
#include <string_view>

#include "twinax/base/config.hpp"

#include "fuzz/fuzz.hpp"

/// The text of --set, a line each: what is accepted is written down, and reads back as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twinax;
  static const Config defaults;
  const std::string text = test::text_of(data, size);
  Config config = defaults;
  bool changed = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    changed = test::is_accepted([&] { config.set(std::string_view(text).substr(begin, end - begin)); }) || changed;
    begin = end + 1;
  }
  if (!changed) return 0;
  const std::string written = config.to_toml();
  Config again = defaults;
  test::expect(test::is_accepted([&] { again.apply(parse_toml(written, "written.toml")); }), "an effective configuration can be read");
  test::expect(again.to_toml() == written, "an effective configuration reads back as the same");
  return 0;
}
