#include <cmath>
#include <string>

#include "twinax/base/units_text.hpp"

#include "fuzz/fuzz.hpp"

namespace twinax::test {
namespace {

void check_bytes(const std::string& text) {
  const Bytes volume = parse_bytes(text);
  expect(volume >= Bytes{0}, "a volume is not negative");
  expect(parse_bytes(to_text(volume)) == volume, "a volume's text is read back");
  expect(!for_people(volume).empty(), "a volume has a text for people");
}

template <class Quantity>
void check_real(Quantity (*parse)(std::string_view), const std::string& text) {
  const Quantity quantity = parse(text);
  expect(std::isfinite(quantity.value) && quantity.value >= 0, "a quantity is finite and not negative");
  expect(parse(to_text(quantity)) == quantity, "a quantity's text is read back");
  expect(!for_people(quantity).empty(), "a quantity has a text for people");
}

void check_flops_rate(const std::string& text) {
  const FlopsPerSecond rate = parse_flops_rate(text);
  expect(std::isfinite(rate.value) && rate.value >= 0, "a rate of computing is finite and not negative");
  expect(!for_people(rate).empty(), "a rate of computing has a text for people");
}

}  // namespace
}  // namespace twinax::test

/// Quantities of every kind: read, written and read back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twinax;
  const std::string text = test::text_of(data, size);
  (void)test::is_accepted([&] { test::check_bytes(text); });
  (void)test::is_accepted([&] { test::check_real<Seconds>(&parse_seconds, text); });
  (void)test::is_accepted([&] { test::check_real<BytesPerSecond>(&parse_rate, text); });
  (void)test::is_accepted([&] { test::check_flops_rate(text); });
  return 0;
}
