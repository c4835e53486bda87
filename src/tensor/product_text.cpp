#include <array>
#include <sstream>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/tensor/matmul.hpp"

namespace twinax::tensor {
namespace {

constexpr std::array<std::string_view, 2> kPrecisions{"fp32", "fp64"};
constexpr std::array<std::string_view, 4> kForms{"NN", "NT", "TN", "TT"};
constexpr std::array<std::string_view, 2> kIntos{"set", "add"};

/// The index of `word` among `words`, or -1.
template <std::size_t kCount>
int index_of(const std::array<std::string_view, kCount>& words, std::string_view word) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (words[i] == word) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Product dense_product(Precision precision, Form form, Into into, std::int64_t m, std::int64_t n, std::int64_t k) {
  const bool transpose_a = form == Form::TN || form == Form::TT;
  const bool transpose_b = form == Form::NT || form == Form::TT;
  return {precision, form, into, m, n, k, transpose_a ? m : k, transpose_b ? k : n, n};
}

std::string to_text(const Product& p) {
  return fmt::format("{} {} {} {}x{}x{} strides {} {} {}", kPrecisions[static_cast<std::size_t>(p.precision)],
                     kForms[static_cast<std::size_t>(p.form)], kIntos[static_cast<std::size_t>(p.into)], p.m, p.n, p.k, p.stride_a,
                     p.stride_b, p.stride_c);
}

Product parse_product(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string precision, form, into, strides;
  Product p;
  char first = 0, second = 0;
  in >> precision >> form >> into >> p.m >> first >> p.n >> second >> p.k >> strides >> p.stride_a >> p.stride_b >> p.stride_c;
  const int precision_index = index_of(kPrecisions, precision);
  const int form_index = index_of(kForms, form);
  const int into_index = index_of(kIntos, into);
  std::string rest;
  const bool sizes = !in.fail() && first == 'x' && second == 'x' && strides == "strides" && !(in >> rest);
  if (precision_index < 0 || form_index < 0 || into_index < 0 || !sizes) {
    throw InvalidArgument(fmt::format("\"{}\" is no matrix product; one looks like \"{}\"", text,
                                      to_text(dense_product(Precision::Fp32, Form::NT, Into::Set, 1024, 768, 256))));
  }
  p.precision = static_cast<Precision>(precision_index);
  p.form = static_cast<Form>(form_index);
  p.into = static_cast<Into>(into_index);
  return p;
}

std::string to_text(std::span<const Choice> choices) {
  std::string text;
  for (const Choice& choice : choices) text += to_text(choice.product) + ": " + choice.backend + "\n";
  return text;
}

std::vector<Choice> parse_choices(std::string_view text) {
  std::vector<Choice> choices;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) {
      throw InvalidArgument(
          fmt::format("\"{}\" is no choice of a matrix product's backend: a product, \": \" and a backend's name are", line));
    }
    choices.push_back({parse_product(std::string_view(line).substr(0, colon)), line.substr(colon + 2)});
  }
  return choices;
}

}  // namespace twinax::tensor
