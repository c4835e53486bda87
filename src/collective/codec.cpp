#include "collective/codec.hpp"

#include <cstdint>
#include <cstring>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/collective/wire.hpp"

#include "collective/codec_int8.hpp"

namespace twinax::collective {
namespace {

void check(std::size_t values, std::size_t bytes, Dtype wire) {
  if (wire_size(static_cast<std::int64_t>(values), wire).value != static_cast<std::int64_t>(bytes)) {
    throw InvalidArgument(std::to_string(values) + " values do not fit " + std::to_string(bytes) + " bytes on the wire");
  }
}

}  // namespace

void encode(std::span<const float> values, std::span<std::byte> bytes, Dtype wire) {
  check(values.size(), bytes.size(), wire);
  if (values.empty()) return;
  if (wire == Dtype::Fp32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return;
  }
  if (wire == Dtype::Int8) return Int8Blocks::encode(values, bytes);
  auto* out = reinterpret_cast<std::uint16_t*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = to_bf16(values[i]);
}

void decode(std::span<const std::byte> bytes, std::span<float> values, Dtype wire) {
  check(values.size(), bytes.size(), wire);
  if (values.empty()) return;
  if (wire == Dtype::Fp32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return;
  }
  if (wire == Dtype::Int8) return Int8Blocks::decode(bytes, values);
  const auto* in = reinterpret_cast<const std::uint16_t*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = from_bf16(in[i]);
}

void add_decoded(std::span<const std::byte> bytes, std::span<float> values, Dtype wire) {
  check(values.size(), bytes.size(), wire);
  if (wire == Dtype::Int8) return Int8Blocks::add(bytes, values);
  if (wire == Dtype::Fp32) {
    const auto* in = reinterpret_cast<const float*>(bytes.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += in[i];
  } else {
    const auto* in = reinterpret_cast<const std::uint16_t*>(bytes.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += from_bf16(in[i]);
  }
}

}  // namespace twinax::collective
