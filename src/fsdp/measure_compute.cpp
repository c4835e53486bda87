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

}  // namespace

Seconds ComputeTimes::stages() const {
  Seconds sum{0};
  for (const Seconds time : forward) sum += time;
  for (const Seconds time : backward) sum += time;
  return sum;
}

ComputeTimes measure_compute(nn::Model<float>& model, const nn::TokenBatch& batch, int shards, int repeats, Clock& clock) {
  const auto stages = model.stages();
  const auto units = model.units();
  std::vector<std::vector<double>> forward_s(stages.size());
  std::vector<std::vector<double>> backward_s(stages.size());
  std::vector<std::vector<double>> optimize_s(units.size());
  std::vector<double> norm_s;
  std::vector<std::vector<float>> parameters(units.size());
  std::vector<FlatParameter> flats;
  std::vector<float> gradients;
  for (std::size_t u = 0; u < units.size(); ++u) {
    parameters[u].resize(static_cast<std::size_t>(units[u].elements));
    nn::initialize<float>(units[u], u, 1, 0, parameters[u]);
    flats.emplace_back(units[u], u, 1, shards, 0);
    gradients.resize(std::max(gradients.size(), parameters[u].size()));
  }
  const auto unit_of = [&](std::size_t stage) { return static_cast<std::size_t>(stages[stage].unit); };
  const float scale = 1.0F / static_cast<float>(std::max<std::int64_t>(batch.sequences * batch.row().target_tokens(), 1));
  double kept = 0;  // so that the norm is not optimized away
  for (int repeat = 0; repeat < repeats; ++repeat) {
    model.start(batch);
    for (std::size_t s = 0; s < stages.size(); ++s) timed(clock, forward_s[s], [&] { model.forward(s, parameters[unit_of(s)]); });
    for (std::size_t s = stages.size(); s-- > 0;) {
      const std::span<float> into = std::span(gradients).first(parameters[unit_of(s)].size());
      timed(clock, backward_s[s], [&] {
        std::ranges::fill(into, 0.0F);
        model.backward(s, parameters[unit_of(s)], into, scale);
      });
    }
    double norm = 0;
    timed(clock, norm_s, [&] {
      for (const FlatParameter& shard : flats) norm += tensor::squared_norm<float>(shard.gradient());
    });
    kept += norm;
    for (std::size_t u = 0; u < units.size(); ++u) timed(clock, optimize_s[u], [&] { update(flats[u], AdamwOptions{}, kept, 1.0, 1); });
  }
  ComputeTimes times{
      .forward = medians(forward_s), .backward = medians(backward_s), .optimize = medians(optimize_s), .norm = median(norm_s)};
  for (std::size_t s = 0; s < stages.size(); ++s) {
    times.flops += model.forward_flops(s, batch.sequences) + model.backward_flops(s, batch.sequences);
  }
  return times;
}

}  // namespace twinax::fsdp
