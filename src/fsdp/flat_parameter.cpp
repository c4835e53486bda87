#include "twinax/fsdp/flat_parameter.hpp"

#include <algorithm>

#include "twinax/base/error.hpp"

namespace twinax::fsdp {

ShardLayout shard_layout(std::int64_t elements, int ranks) {
  if (elements < 0 || ranks < 1) {
    throw InvalidArgument("cutting " + std::to_string(elements) + " elements over " + std::to_string(ranks) +
                          " ranks: both must be positive");
  }
  constexpr std::int64_t kLine = 16;  // floats in a cache line
  const std::int64_t exact = (elements + ranks - 1) / ranks;
  const std::int64_t shard = (exact + kLine - 1) / kLine * kLine;
  return {.elements = elements, .padded = shard * ranks, .shard = shard};
}

std::vector<tensor::ElementRange> decay_ranges(const nn::UnitSpec& unit, std::int64_t begin, std::int64_t length) {
  std::vector<tensor::ElementRange> ranges;
  for (const nn::ParameterSpec& parameter : unit.parameters) {
    if (!parameter.decays) continue;
    const tensor::ElementRange range{.begin = std::max(parameter.offset, begin) - begin,
                                     .end = std::min(parameter.offset + parameter.elements(), begin + length) - begin};
    if (range.begin >= range.end) continue;
    if (!ranges.empty() && ranges.back().end == range.begin) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

FlatParameter::FlatParameter(const nn::UnitSpec& unit, std::size_t unit_index, std::uint64_t seed, int ranks, int index,
                             const StateMemory& memory)
    : name_(unit.name),
      layout_(shard_layout(unit.elements, ranks)),
      master_(memory.parameters),
      gradient_(memory.gradients),
      first_moment_(memory.moments),
      second_moment_(memory.moments) {
  const auto n = static_cast<std::size_t>(layout_.shard);
  const std::int64_t begin = layout_.shard * index;
  master_.resize(n);
  nn::initialize<float>(unit, unit_index, seed, begin, master_);
  gradient_.resize(n);
  first_moment_.resize(n);
  second_moment_.resize(n);
  decays_ = decay_ranges(unit, begin, layout_.shard);
}

}  // namespace twinax::fsdp
