#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/units.hpp"

namespace twinax::nn {

/// One tensor in a unit's flat run of parameters, row-major.
struct ParameterSpec {
  std::string name;  ///< as users know it, e.g. "h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;    ///< in elements, from the unit's beginning
  double initial_stddev = 0;  ///< normal initial values of mean 0; 0 = constant
  double initial_constant = 0;
  bool decays = false;  ///< whether weight decay applies (matrices and embeddings do, biases and norms don't)
  /// The number of elements.
  [[nodiscard]] std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
  }
};

/// Parameters that are gathered, reduced and released together: one flat run of elements.
struct UnitSpec {
  std::string name;                       ///< "root", "h.0", ...
  std::vector<ParameterSpec> parameters;  ///< in the order of their offsets, without gaps
  std::int64_t elements = 0;
};

/// Where a model's memory comes from; null: the system. It outlives the model.
struct ModelMemory {
  std::pmr::memory_resource* activations = nullptr;  ///< what backward needs of forward
  std::pmr::memory_resource* workspaces = nullptr;   ///< what lives within a stage
};

/// A piece of the forward pass that needs the parameters of one unit. Unit 0 is the root: embeddings and head, used at both ends.
struct Stage {
  std::string name;  ///< "embed", "h.0", ..., "head"
  int unit = 0;
};

/// What a row of tokens holds: `length` inputs, and as targets its last tokens.
struct RowShape {
  std::int64_t length = 0;
  std::int64_t targets = 0;  ///< 0: the token after each input, so that inputs and targets overlap; else as many, after the inputs
  /// Tokens of a row.
  [[nodiscard]] std::int64_t tokens() const { return targets == 0 ? length + 1 : length + targets; }
  /// Targets of a row.
  [[nodiscard]] std::int64_t target_tokens() const { return targets == 0 ? length : targets; }
};

/// Token sequences computed at once. tokens [sequences, row().tokens()].
struct TokenBatch {
  std::span<const std::int32_t> tokens;
  std::int64_t sequences = 0;  ///< may be 0: a rank without a share takes part all the same
  std::int64_t length = 0;     ///< as in RowShape
  std::int64_t targets = 0;    ///< as in RowShape
  /// What each row holds.
  [[nodiscard]] RowShape row() const { return {length, targets}; }
};

/// A model as a list of stages over units, with explicit forward and backward. Parameters and gradients come from outside, flat,
/// unit by unit, so that whoever owns them may shard, gather and release them between stages. Instantiated for float and double.
///
/// Nothing is allocated after the first batch of the largest size. Threads: one at a time; the compute lane.
template <class Real>
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  [[nodiscard]] virtual std::span<const UnitSpec> units() const = 0;
  /// In forward order; backward runs them in reverse.
  [[nodiscard]] virtual std::span<const Stage> stages() const = 0;

  /// Begins a micro-batch; the tokens stay valid until its last backward. Throws InvalidArgument for a token outside the vocabulary.
  virtual void start(const TokenBatch& batch) = 0;
  /// Runs a stage forward. parameters [units()[stages()[stage].unit].elements]. A block's stage may be run again before its backward, with
  /// the same result: what it kept for backward may have been overwritten by other blocks' (activation checkpointing).
  virtual void forward(std::size_t stage, std::span<const Real> parameters) = 0;
  /// Runs a stage backward and adds to gradients (same shape as parameters). `scale` multiplies the summed loss's gradient (1 / tokens of
  /// the global batch); it is read by the last stage only.
  virtual void backward(std::size_t stage, std::span<const Real> parameters, std::span<Real> gradients, Real scale) = 0;
  /// The loss of the micro-batch just run forward, in nats, summed over its targets.
  [[nodiscard]] virtual double loss_sum() const = 0;

  /// Floating-point operations of a stage for `sequences` sequences (matrix products and attention).
  [[nodiscard]] virtual Flops forward_flops(std::size_t stage, std::int64_t sequences) const = 0;
  /// The same for its backward.
  [[nodiscard]] virtual Flops backward_flops(std::size_t stage, std::int64_t sequences) const = 0;
};

/// Fills elements [begin, begin + values.size()) of a unit's flat run with their initial values: a pure function of (seed, unit, element),
/// so that any rank can make any part. Elements past the unit's end (padding) are 0.
template <class Real>
void initialize(const UnitSpec& unit, std::size_t unit_index, std::uint64_t seed, std::int64_t begin, std::span<Real> values);

}  // namespace twinax::nn
