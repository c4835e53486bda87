#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/data/text.hpp"

namespace twinax::data {

/// Turns text into tokens. A text is given piece by piece, in order; where the pieces are cut makes no difference. Tokens stand for all
/// bytes of the text: nothing is dropped or changed.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// What made it: `data.tokenizer`, and for a trained one its vocabulary's hash.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// How many tokens there are: each is in [0, vocabulary()).
  [[nodiscard]] virtual std::int64_t vocabulary() const = 0;
  /// Ids from 0 on that no text has: 0, or 3 for padding, an end and the unknown.
  [[nodiscard]] virtual std::int64_t reserved() const = 0;
  /// How many bytes of text a token stands for.
  [[nodiscard]] virtual std::int64_t bytes_of(std::int32_t token) const = 0;
  /// Appends tokens of the next piece of text; some may be held back until the text goes on.
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& tokens) = 0;
  /// Ends the text: appends what was held back.
  virtual void finish(std::vector<std::int32_t>& tokens) = 0;
};

/// Makes a tokenizer: `bytes` has one token a byte, 256 in all; `sentencepiece` (where this build has its library) reads the vocabulary
/// that train_vocabulary wrote.
///
/// Throws: ConfigError, which names those there are; FileError about the vocabulary.
[[nodiscard]] std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name, const std::string& vocabulary_path = "");

/// Whether a tokenizer needs a vocabulary trained on its text. Throws ConfigError if there is no such tokenizer.
[[nodiscard]] bool is_trained(std::string_view name);

/// Trains a vocabulary of at most `size` tokens on the first 64 MiB of a text (unigram model, one thread: the same text gives the same
/// vocabulary), and puts it in place at `path`.
///
/// Throws: ConfigError about the tokenizer or the size; FileError or SystemError about text and path.
void train_vocabulary(std::string_view name, const Text& text, std::int64_t size, const std::string& path);

}  // namespace twinax::data
