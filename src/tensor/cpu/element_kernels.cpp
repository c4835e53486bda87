#include <cmath>
#include <cstddef>

#include "twinax/base/error.hpp"
#include "twinax/tensor/kernels.hpp"

#include "tensor/check_sizes.hpp"
#include "tensor/functors/elementwise.hpp"

namespace twinax::tensor {
namespace {

std::int64_t count(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

template <class Real>
AdamWElement<Real> adamw_element(const AdamW& settings) {
  const auto step = static_cast<double>(settings.step);
  AdamWElement<Real> element{};
  element.gradient_scale = static_cast<Real>(settings.gradient_scale);
  element.keep = 1;
  element.beta1 = static_cast<Real>(settings.beta1);
  element.beta2 = static_cast<Real>(settings.beta2);
  element.one_minus_beta1 = static_cast<Real>(1 - settings.beta1);
  element.one_minus_beta2 = static_cast<Real>(1 - settings.beta2);
  element.step_size = static_cast<Real>(settings.learning_rate / (1 - std::pow(settings.beta1, step)));
  element.root_correction = static_cast<Real>(1 / std::sqrt(1 - std::pow(settings.beta2, step)));
  element.epsilon = static_cast<Real>(settings.epsilon);
  return element;
}

}  // namespace

template <class Real>
void embedding_forward(const BatchShape& shape, std::span<const std::int32_t> tokens, std::span<const Real> token_table,
                       std::span<const Real> position_table, std::span<Real> out) {
  const std::int64_t rows = shape.batch * shape.length;
  check_size("embedding_forward", "tokens", tokens.size(), rows);
  check_size("embedding_forward", "out", out.size(), rows * shape.width);
  check_size_at_least("embedding_forward", "position_table", position_table.size(), shape.length * shape.width);
  for_each_row(rows, EmbedRow<Real>{tokens.data(), token_table.data(), position_table.data(), out.data(), shape.length, shape.width});
}

template <class Real>
void embedding_backward(const BatchShape& shape, std::span<const std::int32_t> tokens, std::span<const Real> d_out,
                        std::span<Real> d_token_table, std::span<Real> d_position_table) {
  const std::int64_t rows = shape.batch * shape.length;
  check_size("embedding_backward", "tokens", tokens.size(), rows);
  check_size("embedding_backward", "d_out", d_out.size(), rows * shape.width);
  check_size_at_least("embedding_backward", "d_position_table", d_position_table.size(), shape.length * shape.width);
  for (std::int64_t row = 0; row < rows; ++row) {
    const Real* const from = d_out.data() + row * shape.width;
    Real* const token = d_token_table.data() + tokens[static_cast<std::size_t>(row)] * shape.width;
    Real* const position = d_position_table.data() + (row % shape.length) * shape.width;
    for_each(shape.width, Add<Real>{token, from, token});
    for_each(shape.width, Add<Real>{position, from, position});
  }
}

template <class Real>
void lookup_forward(std::span<const std::int32_t> tokens, std::int64_t width, std::span<const Real> token_table, std::span<Real> out) {
  check_size("lookup_forward", "out", out.size(), count(tokens.size()) * width);
  for_each_row(count(tokens.size()), LookupRow<Real>{tokens.data(), token_table.data(), out.data(), width});
}

template <class Real>
void lookup_backward(std::span<const std::int32_t> tokens, std::int64_t width, std::span<const Real> d_out, std::span<Real> d_token_table) {
  check_size("lookup_backward", "d_out", d_out.size(), count(tokens.size()) * width);
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    Real* const token = d_token_table.data() + tokens[row] * width;
    for_each(width, Add<Real>{token, d_out.data() + count(row) * width, token});
  }
}

template <class Real>
void adamw_update(const AdamW& settings, std::span<const ElementRange> decays, std::span<const Real> gradients, std::span<Real> parameters,
                  std::span<Real> first_moments, std::span<Real> second_moments) {
  const std::int64_t total = count(parameters.size());
  check_size("adamw_update", "gradients", gradients.size(), total);
  check_size("adamw_update", "first_moments", first_moments.size(), total);
  check_size("adamw_update", "second_moments", second_moments.size(), total);
  if (settings.step < 1) throw InvalidArgument("adamw_update: updates are numbered from 1, not " + std::to_string(settings.step));
  AdamWElement<Real> element = adamw_element<Real>(settings);
  const auto update = [&](std::int64_t begin, std::int64_t end, Real keep) {
    element.keep = keep;
    element.gradients = gradients.data() + begin;
    element.parameters = parameters.data() + begin;
    element.first_moments = first_moments.data() + begin;
    element.second_moments = second_moments.data() + begin;
    for_each(end - begin, element);
  };
  const auto decayed = static_cast<Real>(1 - settings.learning_rate * settings.weight_decay);
  std::int64_t done = 0;
  for (const ElementRange& range : decays) {
    if (range.begin < done || range.end < range.begin || range.end > total) {
      throw InvalidArgument("adamw_update: the ranges that decay must ascend, not overlap, and end by " + std::to_string(total) +
                            "; found [" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")");
    }
    update(done, range.begin, 1);
    update(range.begin, range.end, decayed);
    done = range.end;
  }
  update(done, total, 1);
}

template <class Real>
double squared_norm(std::span<const Real> values) {
  const Real* const v = values.data();
  return CpuLanes{}.sum<double>(count(values.size()), [=](std::int64_t i) {
    const auto value = static_cast<double>(v[i]);
    return value * value;
  });
}

template <class Real>
void scale(std::span<Real> values, Real factor) {
  for_each(count(values.size()), Scale<Real>{values.data(), factor});
}

template <class Real>
void add(std::span<const Real> a, std::span<const Real> b, std::span<Real> out) {
  check_size("add", "b", b.size(), count(a.size()));
  check_size("add", "out", out.size(), count(a.size()));
  for_each(count(a.size()), Add<Real>{a.data(), b.data(), out.data()});
}

#define TWINAX_INSTANTIATE(Real)                                                                                                         \
  template void embedding_forward<Real>(const BatchShape&, std::span<const std::int32_t>, std::span<const Real>, std::span<const Real>,  \
                                        std::span<Real>);                                                                                \
  template void embedding_backward<Real>(const BatchShape&, std::span<const std::int32_t>, std::span<const Real>, std::span<Real>,       \
                                         std::span<Real>);                                                                               \
  template void lookup_forward<Real>(std::span<const std::int32_t>, std::int64_t, std::span<const Real>, std::span<Real>);               \
  template void lookup_backward<Real>(std::span<const std::int32_t>, std::int64_t, std::span<const Real>, std::span<Real>);              \
  template void adamw_update<Real>(const AdamW&, std::span<const ElementRange>, std::span<const Real>, std::span<Real>, std::span<Real>, \
                                   std::span<Real>);                                                                                     \
  template double squared_norm<Real>(std::span<const Real>);                                                                             \
  template void scale<Real>(std::span<Real>, Real);                                                                                      \
  template void add<Real>(std::span<const Real>, std::span<const Real>, std::span<Real>);
TWINAX_INSTANTIATE(float)
TWINAX_INSTANTIATE(double)
#undef TWINAX_INSTANTIATE

}  // namespace twinax::tensor
