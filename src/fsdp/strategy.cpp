#include "twinax/fsdp/strategy.hpp"

#include <string>

#include "twinax/base/error.hpp"

namespace twinax::fsdp {

Strategy parse_strategy(std::string_view text) {
  if (text == "full") return Strategy::Full;
  if (text == "replicate") return Strategy::Replicate;
  throw InvalidArgument("the sharding strategy \"" + std::string(text) + "\" is not known: full or replicate");
}

}  // namespace twinax::fsdp
