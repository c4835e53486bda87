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

Limiter parse_limiter(std::string_view text) {
  if (text == "none") return Limiter::None;
  if (text == "window") return Limiter::Window;
  throw InvalidArgument("the limiter \"" + std::string(text) + "\" is not known: none or window");
}

}  // namespace twinax::fsdp
