#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "twinax/base/error.hpp"

namespace twinax::test {

/// Ends the fuzzer with a finding unless the claim holds.
inline void expect(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

/// An input as text.
inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Runs what may refuse its input; false if it did. Refusals are errors of the project with a message: any other exception is a finding.
template <class Body>
bool is_accepted(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    expect(!std::string_view(error.what()).empty(), "a refusal says why");
    return false;
  }
  return true;
}

}  // namespace twinax::test
