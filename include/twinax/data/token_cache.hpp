#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "twinax/data/text.hpp"
#include "twinax/data/token_file.hpp"
#include "twinax/data/tokenizer.hpp"

namespace twinax::data {

/// Where prepared tokens are kept: the folder asked for, or `$XDG_CACHE_HOME/twinax`, or `~/.cache/twinax`.
///
/// Throws: ConfigError if none is known.
[[nodiscard]] std::string token_cache_folder(const std::string& asked);

/// The file that holds a text's tokens: one for each path and tokenizer, so that a changed text takes the place of its old tokens.
[[nodiscard]] std::string token_cache_path(const std::string& folder, const Text& text, std::string_view tokenizer);

/// The file that holds the vocabulary trained on a text.
[[nodiscard]] std::string vocabulary_path(const std::string& folder, const Text& text, std::string_view tokenizer);

/// Trains the vocabulary that a tokenizer needs on the text at `text_path`, in place of an earlier one. Returns its path.
///
/// Throws: as prepare_tokens and train_vocabulary.
std::string prepare_vocabulary(const std::string& text_path, std::string_view tokenizer, std::int64_t size,
                               const std::string& cache_folder);

/// A text's tokens, and how they were had.
struct PreparedTokens {
  TokenFile tokens;
  std::unique_ptr<Tokenizer> tokenizer;  ///< that made them
  std::string path;                      ///< of the token file
  bool made = false;                     ///< false: they were there already
};

/// The tokens of the text at `text_path`, made if they aren't there yet, or if the text's size or time of change is another, or if the
/// file that holds them is damaged (which is said in the log). Ranks may call it at once. A vocabulary that has to be trained must be
/// there.
///
/// Throws: FileError about the text; ConfigError about the tokenizer; SystemError if the tokens can't be written.
[[nodiscard]] PreparedTokens prepare_tokens(const std::string& text_path, std::string_view tokenizer, const std::string& cache_folder);

}  // namespace twinax::data
