#include "twinax/fsdp/measure_compute.hpp"

#include <algorithm>
#include <cstddef>

#include "twinax/fsdp/flat_parameter.hpp"
#include "twinax/fsdp/sharded_adamw.hpp"
#include "twinax/tensor/kernels.hpp"

namespace twinax::fsdp {
namespace {

Seconds median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return {*middle};
}

std::vector<Seconds> medians(std::vector<std::vector<double>>& samples) {
  std::vector<Seconds> result;
  result.reserve(samples.size());
  for (std::vector<double>& values : samples) result.push_back(median(values));
  return result;
}

/// Runs something and keeps the seconds it took.
template <class Run>
void timed(Clock& clock, std::vector<double>& into, Run&& run) {
  const Seconds begin = clock.now();
  run();
  into.push_back((clock.now() - begin).value);
}

std::size_t elements_of(const nn::UnitSpec& unit) {
  return static_cast<std::size_t>(unit.elements);
}

/// Whole parameters for the stages of a step: the root's, and in turn those of every other unit. Blocks of one kind have the same values,
/// so that little has to be made anew between two stages.
class Parameters {
 public:
  Parameters(std::span<const nn::UnitSpec> units, std::pmr::memory_resource* memory) : units_(units), root_(memory), block_(memory) {
    std::size_t largest = 0;
    for (const nn::UnitSpec& unit : units.subspan(1)) largest = std::max(largest, elements_of(unit));
    root_.resize(elements_of(units.front()));
    block_.resize(largest);
    nn::initialize<float>(units.front(), 0, 1, 0, root_);
  }
  std::span<const float> of(std::size_t unit) {
    if (unit == 0) return root_;
    const std::span<float> values = std::span(block_).first(elements_of(units_[unit]));
    if (in_block_ == 0 || !is_same_kind(units_[in_block_], units_[unit])) nn::initialize<float>(units_[unit], unit, 1, 0, values);
    in_block_ = unit;
    return values;
  }

 private:
  static bool is_same_kind(const nn::UnitSpec& a, const nn::UnitSpec& b) {
    return std::ranges::equal(a.parameters, b.parameters, [](const nn::ParameterSpec& x, const nn::ParameterSpec& y) {
      return x.offset == y.offset && x.shape == y.shape;
    });
  }

  std::span<const nn::UnitSpec> units_;
  std::pmr::vector<float> root_, block_;
  std::size_t in_block_ = 0;  // the unit whose values are there; 0: none
};

void measure_stages(nn::Model<float>& model, const nn::TokenBatch& batch, const MeasureOptions& options, Clock& clock,
                    ComputeTimes& times) {
  const auto stages = model.stages();
  std::vector<std::vector<double>> forward_s(stages.size());
  std::vector<std::vector<double>> backward_s(stages.size());
  Parameters parameters(model.units(), options.memory);
  std::size_t largest = 0;
  for (const nn::UnitSpec& unit : model.units()) largest = std::max(largest, elements_of(unit));
  std::pmr::vector<float> gradients(largest, options.memory);
  const float scale = 1.0F / static_cast<float>(std::max<std::int64_t>(batch.sequences * batch.row().target_tokens(), 1));
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    model.start(batch);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const std::span<const float> whole = parameters.of(static_cast<std::size_t>(stages[s].unit));
      timed(clock, forward_s[s], [&] { model.forward(s, whole); });
    }
    for (std::size_t s = stages.size(); s-- > 0;) {
      const std::span<const float> whole = parameters.of(static_cast<std::size_t>(stages[s].unit));
      const std::span<float> into = std::span(gradients).first(whole.size());
      timed(clock, backward_s[s], [&] {
        std::ranges::fill(into, 0.0F);
        model.backward(s, whole, into, scale);
      });
    }
  }
  times.forward = medians(forward_s);
  times.backward = medians(backward_s);
}

/// One unit's shard after the other, so that no more than the largest is held.
void measure_update(const nn::Model<float>& model, const MeasureOptions& options, Clock& clock, ComputeTimes& times) {
  const auto units = model.units();
  const StateMemory memory{.parameters = options.memory, .gradients = options.memory, .moments = options.memory};
  for (std::size_t u = 0; u < units.size(); ++u) {
    FlatParameter shard(units[u], u, 1, options.shards, 0, memory);
    std::vector<double> norm_s;
    std::vector<double> optimize_s;
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      double norm = 0;
      timed(clock, norm_s, [&] { norm = tensor::squared_norm<float>(shard.gradient()); });
      // The norm goes in, so that it is not optimized away.
      timed(clock, optimize_s, [&] { update(shard, AdamwOptions{}, norm, 1.0, 1); });
    }
    times.norm += median(norm_s);
    times.optimize.push_back(median(optimize_s));
  }
}

}  // namespace

Seconds ComputeTimes::stages() const {
  Seconds sum{0};
  for (const Seconds time : forward) sum += time;
  for (const Seconds time : backward) sum += time;
  return sum;
}

ComputeTimes measure_compute(nn::Model<float>& model, const nn::TokenBatch& batch, const MeasureOptions& options, Clock& clock) {
  ComputeTimes times;
  measure_stages(model, batch, options, clock, times);
  measure_update(model, options, clock, times);
  for (std::size_t s = 0; s < model.stages().size(); ++s) {
    times.flops += model.forward_flops(s, batch.sequences) + model.backward_flops(s, batch.sequences);
  }
  return times;
}

}  // namespace twinax::fsdp
