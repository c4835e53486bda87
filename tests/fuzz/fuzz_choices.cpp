#include <string>
#include <vector>

#include "twinax/tensor/matmul.hpp"

#include "fuzz/fuzz.hpp"

/// Choices of backends, a product a line: what is accepted is written down, and reads back as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twinax;
  const std::string text = test::text_of(data, size);
  std::vector<tensor::Choice> choices;
  if (test::is_accepted([&] { choices = tensor::parse_choices(text); }))
    test::expect(tensor::parse_choices(tensor::to_text(choices)) == choices, "choices read back as the same");
  tensor::Product product;
  if (test::is_accepted([&] { product = tensor::parse_product(text); }))
    test::expect(tensor::parse_product(tensor::to_text(product)) == product, "a product reads back as the same");
  return 0;
}
