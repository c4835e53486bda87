#include "nn/checks.hpp"

#include <string>

#include "twinax/base/error.hpp"

namespace twinax::nn {

void check_positive(const char* model, const char* what, std::int64_t value) {
  if (value >= 1) return;
  throw InvalidArgument("a " + std::string(model) + " with " + std::to_string(value) + " " + what + ": at least 1 is needed");
}

void check_call(std::span<const Stage> stages, std::span<const UnitSpec> units, std::size_t stage, std::size_t elements) {
  if (stage >= stages.size()) {
    throw InvalidArgument("stage " + std::to_string(stage) + " of a model that has " + std::to_string(stages.size()));
  }
  const UnitSpec& unit = units[static_cast<std::size_t>(stages[stage].unit)];
  if (elements != static_cast<std::size_t>(unit.elements)) {
    throw InvalidArgument("stage " + stages[stage].name + ": unit " + unit.name + " has " + std::to_string(unit.elements) +
                          " elements, found " + std::to_string(elements));
  }
}

void check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary) {
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary) {
      throw InvalidArgument("token " + std::to_string(token) + " is outside the vocabulary of " + std::to_string(vocabulary));
    }
  }
}

}  // namespace twinax::nn
