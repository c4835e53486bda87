#include <string>

#include "twinax/base/config.hpp"

#include "fuzz/fuzz.hpp"

/// A configuration file: what is accepted is written down, and reads back as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twinax;
  Config config;
  const bool accepted = test::is_accepted([&] { config.apply(parse_toml(test::text_of(data, size), "input.toml")); });
  if (!accepted) return 0;
  const std::string written = config.to_toml();
  Config again;
  test::expect(test::is_accepted([&] { again.apply(parse_toml(written, "written.toml")); }), "an effective configuration can be read");
  test::expect(again.to_toml() == written, "an effective configuration reads back as the same");
  return 0;
}
