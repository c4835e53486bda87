#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace twinax::data {

/// Turns text into tokens. A text is given piece by piece, in order.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// The name that makes it (`data.tokenizer`).
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// How many tokens there are: each is in [0, vocabulary()).
  [[nodiscard]] virtual std::int64_t vocabulary() const = 0;
  /// Appends the tokens of the next piece of text.
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& tokens) = 0;
};

/// Makes a tokenizer: `bytes` has one token a byte, 256 in all. Throws ConfigError, which names those there are.
[[nodiscard]] std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name);

}  // namespace twinax::data
