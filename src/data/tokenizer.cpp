#include "twinax/data/tokenizer.hpp"

#include <array>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::data {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::string_view name() const override { return "bytes"; }
  [[nodiscard]] std::int64_t vocabulary() const override { return 256; }
  void encode(std::string_view piece, std::vector<std::int32_t>& tokens) override {
    tokens.reserve(tokens.size() + piece.size());
    for (const char c : piece) tokens.push_back(static_cast<unsigned char>(c));
  }
};

struct TokenizerRow {
  std::string_view name;
  std::unique_ptr<Tokenizer> (*make)();
};

constexpr std::array kTokenizers{TokenizerRow{"bytes", [] { return std::unique_ptr<Tokenizer>(std::make_unique<ByteTokenizer>()); }}};

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name) {
  std::string known;
  for (const auto& row : kTokenizers) {
    if (row.name == name) return row.make();
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw ConfigError(fmt::format("data.tokenizer: \"{}\" is unknown; there are: {}", name, known));
}

}  // namespace twinax::data
