#include "app/text_rows.hpp"

#include <utility>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/data/token_cache.hpp"

namespace twinax::app {
namespace {

constexpr std::uint32_t kTraining = 0;  // series of SpanCorruption
constexpr std::uint32_t kHeldOut = 1;

/// The width of a head where heads share the model's.
std::int64_t width_of_heads(const Config& config) {
  const std::int64_t width = config.integer("model.width");
  const std::int64_t heads = config.integer("model.heads");
  if (width % heads != 0) throw ConfigError(fmt::format("model.width = {} is not a multiple of model.heads = {}", width, heads));
  return width / heads;
}

/// The model's vocabulary: that asked for, which must have room for `needed` tokens, or `natural`.
std::int64_t vocabulary_of(const Config& config, std::int64_t needed, std::int64_t natural) {
  const std::int64_t asked = config.integer("model.vocabulary");
  if (asked == 0) return natural;
  if (asked < needed) {
    throw ConfigError(
        fmt::format("model.vocabulary = {}: the tokenizer {} needs {}; 0 takes its number", asked, config.text("data.tokenizer"), needed));
  }
  return asked;
}

}  // namespace

TextRows::TextRows(const Config& config) {
  if (config.text("model.kind") == "t5") {
    open_t5(config);
  } else {
    open_gpt(config);
  }
}

void TextRows::open_text(const Config& config, std::int64_t tokens_a_row) {
  const std::string& path = config.text("data.path");
  if (path.empty()) {
    throw ConfigError(
        "data.path is empty: name a text file, or a folder of text files, to train on (make demo prepares build/data/bible.txt)");
  }
  data::PreparedTokens prepared =
      data::prepare_tokens(path, config.text("data.tokenizer"), data::token_cache_folder(config.text("data.cache")));
  tokenizer_ = std::move(prepared.tokenizer);
  batcher_.emplace(std::move(prepared.tokens), tokens_a_row, static_cast<std::uint64_t>(config.integer("train.seed")),
                   config.real("data.held_out"));
}

void TextRows::open_gpt(const Config& config) {
  nn::GptShape shape{.layers = config.integer("model.layers"),
                     .width = config.integer("model.width"),
                     .heads = config.integer("model.heads"),
                     .context = config.integer("model.context"),
                     .tied = config.flag("model.tied")};
  (void)width_of_heads(config);
  open_text(config, shape.context);
  shape.vocabulary = vocabulary_of(config, tokenizer_->vocabulary(), tokenizer_->vocabulary());
  row_ = {.length = shape.context};
  shape_ = shape;
}

void TextRows::open_t5(const Config& config) {
  const data::SpanOptions options{.noise_share = config.real("data.noise_share"), .mean_span = config.real("data.mean_span")};
  const std::int64_t least = data::span_sizes(2, options).inputs();
  if (config.integer("model.context") < least) {
    throw ConfigError(fmt::format("model.context = {}: a T5 with hidden spans needs {} at least", config.integer("model.context"), least));
  }
  const data::SpanSizes sizes = data::longest_span_sizes(config.integer("model.context"), options);
  open_text(config, sizes.text);
  const std::int64_t asked_head_width = config.integer("model.d_kv");
  const std::int64_t shift = data::SpanIds::kReserved - tokenizer_->reserved();
  const std::int64_t text = tokenizer_->vocabulary();
  nn::T5Shape shape{.layers = config.integer("model.layers"),
                    .decoder_layers = config.integer("model.decoder_layers"),
                    .width = config.integer("model.width"),
                    .heads = config.integer("model.heads"),
                    .head_width = asked_head_width == 0 ? width_of_heads(config) : asked_head_width,
                    .feed_forward = config.integer("model.d_ff"),
                    .context = sizes.inputs(),
                    .targets = sizes.targets(),
                    .vocabulary = vocabulary_of(config, shift + text + sizes.spans, data::span_vocabulary(shift, text, sizes.spans))};
  if (shape.decoder_layers == 0) shape.decoder_layers = shape.layers;
  if (shape.feed_forward == 0) shape.feed_forward = shape.width * 5 / 2;
  corruption_.emplace(sizes, data::SpanIds{.shift = shift, .text = text, .vocabulary = shape.vocabulary},
                      static_cast<std::uint64_t>(config.integer("train.seed")));
  row_ = {.length = shape.context, .targets = shape.targets};
  shape_ = shape;
}

void TextRows::training_row(std::int64_t global_index, std::span<std::int32_t> out) const {
  if (!corruption_) return batcher_->training_sequence(global_index, out);
  std::vector<std::int32_t> block = empty_block();
  batcher_->training_sequence(global_index, block);
  corruption_->corrupt(kTraining, global_index, std::span(block).first(block.size() - 1), out);
}

void TextRows::held_out_row(std::int64_t row, std::span<std::int32_t> out) const {
  if (!corruption_) return batcher_->held_out_sequence(row, out);
  std::vector<std::int32_t> block = empty_block();
  batcher_->held_out_sequence(row, block);
  corruption_->corrupt(kHeldOut, row, std::span(block).first(block.size() - 1), out);
}

std::int64_t TextRows::held_out_bytes(std::int64_t row) const {
  std::vector<std::int32_t> block = empty_block();
  batcher_->held_out_sequence(row, block);
  std::int64_t bytes = 0;
  if (corruption_) {
    std::vector<std::uint8_t> hidden(block.size() - 1);
    corruption_->hide(kHeldOut, row, hidden);
    for (std::size_t i = 0; i < hidden.size(); ++i) bytes += hidden[i] == 0 ? 0 : tokenizer_->bytes_of(block[i]);
  } else {
    for (std::size_t i = 1; i < block.size(); ++i) bytes += tokenizer_->bytes_of(block[i]);
  }
  return bytes;
}

std::unique_ptr<nn::Model<float>> make_model(const ModelShape& shape, std::int64_t max_sequences, tensor::Matmul& matmul,
                                             const nn::ModelMemory& memory, bool checkpoints) {
  if (const auto* t5 = std::get_if<nn::T5Shape>(&shape)) return nn::make_t5<float>(*t5, max_sequences, matmul, memory, checkpoints);
  return nn::make_gpt<float>(std::get<nn::GptShape>(shape), max_sequences, matmul, memory, checkpoints);
}

}  // namespace twinax::app
