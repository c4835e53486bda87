#include "twinax/data/tokenizer.hpp"

#include <array>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

#if defined(TWINAX_HAS_SENTENCEPIECE)
#include "data/sentencepiece.hpp"
#endif

namespace twinax::data {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::string_view name() const override { return "bytes"; }
  [[nodiscard]] std::int64_t vocabulary() const override { return 256; }
  [[nodiscard]] std::int64_t reserved() const override { return 0; }
  [[nodiscard]] std::int64_t bytes_of(std::int32_t /*token*/) const override { return 1; }
  void encode(std::string_view piece, std::vector<std::int32_t>& tokens) override {
    tokens.reserve(tokens.size() + piece.size());
    for (const char c : piece) tokens.push_back(static_cast<unsigned char>(c));
  }
  void finish(std::vector<std::int32_t>& /*tokens*/) override {}
};

struct TokenizerRow {
  std::string_view name;
  std::unique_ptr<Tokenizer> (*make)(const std::string& vocabulary_path);
  void (*train)(const Text& text, std::int64_t size, const std::string& path);  // null: it needs no vocabulary
};

constexpr std::array kTokenizers {
  TokenizerRow{"bytes", [](const std::string&) { return std::unique_ptr<Tokenizer>(std::make_unique<ByteTokenizer>()); }, nullptr},
#if defined(TWINAX_HAS_SENTENCEPIECE)
      TokenizerRow{"sentencepiece", &make_sentencepiece, &train_sentencepiece},
#endif
};

const TokenizerRow& row_of(std::string_view name) {
  std::string known;
  for (const auto& row : kTokenizers) {
    if (row.name == name) return row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw ConfigError(fmt::format("data.tokenizer: \"{}\" is unknown; there are: {}{}", name, known,
                                name == "sentencepiece" ? " (this build was made without libsentencepiece-dev)" : ""));
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name, const std::string& vocabulary_path) {
  return row_of(name).make(vocabulary_path);
}

bool is_trained(std::string_view name) {
  return row_of(name).train != nullptr;
}

void train_vocabulary(std::string_view name, const Text& text, std::int64_t size, const std::string& path) {
  const TokenizerRow& row = row_of(name);
  if (row.train == nullptr) throw ConfigError(fmt::format("data.tokenizer: \"{}\" has a vocabulary that isn't trained", name));
  row.train(text, size, path);
}

}  // namespace twinax::data
