#include <string>
#include <vector>

#include "twinax/collective/choice.hpp"

#include "fuzz/fuzz.hpp"

/// Tune files, and choices of algorithms as records and other ranks hold them: what is accepted reads back as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twinax;
  const std::string text = test::text_of(data, size);
  std::vector<collective::Choice> choices;
  if (test::is_accepted([&] { choices = collective::parse_choices(text); }))
    test::expect(collective::parse_choices(collective::to_text(choices)) == choices, "choices read back as the same");
  test::is_accepted([&] { (void)collective::parse_tune_file(text, "fuzzed"); });
  return 0;
}
