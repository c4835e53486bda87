#include <algorithm>
#include <cmath>

#include "twinax/base/narrow.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/nn/model.hpp"

namespace twinax::nn {

template <class Real>
void initialize(const UnitSpec& unit, std::size_t unit_index, std::uint64_t seed, std::int64_t begin, std::span<Real> values) {
  const Philox random(seed, Draw::InitialWeight, narrow<std::uint32_t>(unit_index));
  const std::int64_t end = begin + static_cast<std::int64_t>(values.size());
  std::fill(values.begin(), values.end(), Real(0));
  for (const ParameterSpec& parameter : unit.parameters) {
    const std::int64_t first = std::max(begin, parameter.offset);
    const std::int64_t last = std::min(end, parameter.offset + parameter.elements());
    for (std::int64_t element = first; element < last; ++element) {
      double value = parameter.initial_constant;
      if (parameter.initial_stddev > 0) value += parameter.initial_stddev * random.normal(static_cast<std::uint64_t>(element));
      values[static_cast<std::size_t>(element - begin)] = static_cast<Real>(value);
    }
  }
}

template void initialize<float>(const UnitSpec&, std::size_t, std::uint64_t, std::int64_t, std::span<float>);
template void initialize<double>(const UnitSpec&, std::size_t, std::uint64_t, std::int64_t, std::span<double>);

}  // namespace twinax::nn
