#include "twinax/fsdp/strategy.hpp"

#include <string>

#include "twinax/base/error.hpp"

namespace twinax::fsdp {

Strategy parse_strategy(std::string_view text) {
  if (text == "full") return Strategy::Full;
  if (text == "keep") return Strategy::Keep;
  if (text == "hybrid") return Strategy::Hybrid;
  if (text == "replicate") return Strategy::Replicate;
  throw InvalidArgument("the sharding strategy \"" + std::string(text) + "\" is not known: full, keep, hybrid or replicate");
}

const char* to_text(Strategy strategy) {
  switch (strategy) {
    case Strategy::Full:
      return "full";
    case Strategy::Keep:
      return "keep";
    case Strategy::Hybrid:
      return "hybrid";
    case Strategy::Replicate:
      return "replicate";
  }
  return "?";
}

Accumulate parse_accumulate(std::string_view text) {
  if (text == "reduce") return Accumulate::Reduce;
  if (text == "local") return Accumulate::Local;
  throw InvalidArgument("the accumulation \"" + std::string(text) + "\" is not known: reduce or local");
}

BackwardPrefetch parse_backward_prefetch(std::string_view text) {
  if (text == "pre") return BackwardPrefetch::Pre;
  if (text == "post") return BackwardPrefetch::Post;
  throw InvalidArgument("the backward prefetch \"" + std::string(text) + "\" is not known: pre or post");
}

}  // namespace twinax::fsdp
