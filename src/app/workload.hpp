#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/data/batcher.hpp"
#include "twinax/fsdp/measure_compute.hpp"
#include "twinax/fsdp/trainer.hpp"
#include "twinax/nn/model.hpp"
#include "twinax/tensor/matmul.hpp"

#include "app/text_rows.hpp"

namespace twinax::app {

/// What one rank computes in a run: its model, its share of the data, cut into micro-batches.
class Workload {
 public:
  /// Not collective. The model's memory comes from `arena`, and so does what measuring takes. Throws ConfigError or FileError about the
  /// model's shape, the text, or more ranks than there are sequences of tokens.
  Workload(const Config& config, int ranks, int index, step::Arena& arena);

  [[nodiscard]] nn::Model<float>& model() { return *model_; }
  [[nodiscard]] tensor::Matmul& matmul() { return matmul_; }
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] std::int64_t heads() const;
  /// What each row of a batch holds.
  [[nodiscard]] nn::RowShape row() const { return rows_.row(); }
  [[nodiscard]] std::int64_t micro_batch() const { return micro_batch_; }
  [[nodiscard]] std::int64_t micro_batches() const { return micro_batches_; }
  /// Sequences of a step over all ranks.
  [[nodiscard]] std::int64_t global_batch() const { return global_batch_; }
  /// Targets of a step over all ranks.
  [[nodiscard]] std::int64_t global_tokens() const { return global_batch_ * row().target_tokens(); }

  /// This rank's part of a step; valid until the next call.
  [[nodiscard]] fsdp::RankBatch training_batch(std::int64_t step);
  /// The whole batch of a step, in order: [global_batch, row().tokens()].
  [[nodiscard]] std::vector<std::int32_t> whole_batch(std::int64_t step) const;
  /// How many rounds an evaluation takes (0: there is no whole held-out sequence), and this rank's part of one; valid until the next call.
  [[nodiscard]] std::int64_t evaluation_rounds() const;
  [[nodiscard]] fsdp::RankBatch evaluation_batch(std::int64_t round);
  /// The bytes of text that an evaluation's targets stand for, over all ranks.
  [[nodiscard]] std::int64_t evaluation_bytes() const;

  /// Floating-point operations of one sequence's forward and backward.
  [[nodiscard]] Flops sequence_flops() const;
  /// Floating-point operations of this rank in a step.
  [[nodiscard]] Flops step_flops() const;
  /// Times this rank's first micro-batch without communication, with the optimizer on one of `shards` shards.
  [[nodiscard]] fsdp::ComputeTimes measure(int shards, int repeats, Clock& clock);

 private:
  [[nodiscard]] fsdp::RankBatch batch_of(std::int64_t sequences, std::int64_t global_tokens) const;
  int ranks_;
  int index_;
  std::int64_t global_batch_;
  std::int64_t micro_batch_;
  std::int64_t micro_batches_;
  std::int64_t evaluated_ = 0;  // held-out sequences of an evaluation
  data::Share share_;
  TextRows rows_;
  step::Arena& arena_;
  tensor::Matmul matmul_;
  std::unique_ptr<nn::Model<float>> model_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace twinax::app
