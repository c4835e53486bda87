#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "twinax/nn/model.hpp"

// What all models check. All throw InvalidArgument, which says what was found and what is right.
namespace twinax::nn {

/// That a model ("GPT") has at least one of what its shape counts.
void check_positive(const char* model, const char* what, std::int64_t value);
/// That there is such a stage, and that it is given as many parameters or gradients as its unit has.
void check_call(std::span<const Stage> stages, std::span<const UnitSpec> units, std::size_t stage, std::size_t elements);
/// That each token is in [0, vocabulary).
void check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary);

}  // namespace twinax::nn
