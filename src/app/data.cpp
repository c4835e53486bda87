#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/data/token_cache.hpp"

#include "app/commands.hpp"

namespace twinax::app {

int prepare_command(const DataArguments& arguments) {
  try {
    const std::string folder = data::token_cache_folder(arguments.cache);
    const data::PreparedTokens prepared = data::prepare_tokens(arguments.text, arguments.tokenizer, folder);
    fmt::print("{}: {} tokens of {} ({}), {}\n", prepared.path, prepared.tokens.size(), arguments.text, arguments.tokenizer,
               prepared.made ? "prepared now" : "prepared before");
    return 0;
  } catch (const Error& error) {
    log_error(error.what());
    return 2;
  }
}

}  // namespace twinax::app
