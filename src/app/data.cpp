#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/data/token_cache.hpp"

#include "app/commands.hpp"

namespace twinax::app {

int prepare_command(const DataArguments& arguments) {
  try {
    const std::string folder = data::token_cache_folder(arguments.cache);
    if (data::is_trained(arguments.tokenizer)) {
      const std::string path = data::prepare_vocabulary(arguments.text, arguments.tokenizer, arguments.vocabulary, folder);
      fmt::print("{}: a vocabulary trained on {}\n", path, arguments.text);
    }
    const data::PreparedTokens prepared = data::prepare_tokens(arguments.text, arguments.tokenizer, folder);
    fmt::print("{}: {} tokens of {} ({}, {} in all), {}\n", prepared.path, prepared.tokens.size(), arguments.text, arguments.tokenizer,
               prepared.tokenizer->vocabulary(), prepared.made ? "prepared now" : "prepared before");
    return 0;
  } catch (const Error& error) {
    log_error(error.what());
    return 2;
  }
}

}  // namespace twinax::app
