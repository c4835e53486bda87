#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/data/batcher.hpp"
#include "twinax/data/span_corruption.hpp"
#include "twinax/data/tokenizer.hpp"
#include "twinax/nn/gpt.hpp"
#include "twinax/nn/model.hpp"
#include "twinax/nn/t5.hpp"
#include "twinax/tensor/matmul.hpp"

namespace twinax::app {

/// A model's shape, by its kind.
using ModelShape = std::variant<nn::GptShape, nn::T5Shape>;

/// A text in the rows that a model's kind is trained on: each token's next one for a GPT, hidden spans for a T5.
class TextRows {
 public:
  /// Throws ConfigError or FileError about the text, the model's shape or its vocabulary.
  explicit TextRows(const Config& config);

  /// The shape that the configuration asks for, with the vocabulary of this text's tokenizer where it asks for none.
  [[nodiscard]] const ModelShape& shape() const { return shape_; }
  /// What each row holds.
  [[nodiscard]] nn::RowShape row() const { return row_; }
  /// Rows of an epoch, and rows that are kept for evaluation.
  [[nodiscard]] std::int64_t rows() const { return batcher_->blocks(); }
  [[nodiscard]] std::int64_t held_out_rows() const { return batcher_->held_out_blocks(); }

  /// Writes the row of a training sequence; `global_index` as Batcher's. out [row().tokens()].
  void training_row(std::int64_t global_index, std::span<std::int32_t> out) const;
  /// Writes a row of the held-out part. out [row().tokens()].
  void held_out_row(std::int64_t row, std::span<std::int32_t> out) const;
  /// The bytes of text that the targets of a held-out row stand for.
  [[nodiscard]] std::int64_t held_out_bytes(std::int64_t row) const;

 private:
  void open_gpt(const Config& config);
  void open_t5(const Config& config);
  void open_text(const Config& config, std::int64_t tokens_a_row);
  /// Room for a sequence of the text and the token after it.
  [[nodiscard]] std::vector<std::int32_t> empty_block() const {
    return std::vector<std::int32_t>(static_cast<std::size_t>(batcher_->context() + 1));
  }
  ModelShape shape_;
  nn::RowShape row_;
  std::unique_ptr<data::Tokenizer> tokenizer_;
  std::optional<data::Batcher> batcher_;
  std::optional<data::SpanCorruption> corruption_;
};

/// Makes a model of the shape for up to `max_sequences` sequences at once; `matmul` is borrowed, the rest as make_gpt's.
[[nodiscard]] std::unique_ptr<nn::Model<float>> make_model(const ModelShape& shape, std::int64_t max_sequences, tensor::Matmul& matmul,
                                                           const nn::ModelMemory& memory, bool checkpoints);

}  // namespace twinax::app
