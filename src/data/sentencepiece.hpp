#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "twinax/data/text.hpp"
#include "twinax/data/tokenizer.hpp"

namespace twinax::data {

/// A tokenizer of a vocabulary that train_sentencepiece wrote. Lines are split into its pieces; a line that its pieces don't spell exactly
/// (bytes that are no UTF-8, say) and the ends of lines are tokens of single bytes, so that all bytes are there.
///
/// Throws: FileError if the file is missing or no such vocabulary.
/// Source: Kudo, Richardson: SentencePiece, EMNLP 2018; Kudo: Subword Regularization, ACL 2018 (the unigram model).
[[nodiscard]] std::unique_ptr<Tokenizer> make_sentencepiece(const std::string& vocabulary_path);

/// What train_vocabulary promises.
void train_sentencepiece(const Text& text, std::int64_t size, const std::string& path);

}  // namespace twinax::data
