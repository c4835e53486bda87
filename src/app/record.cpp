#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/record/read_record.hpp"

#include "app/commands.hpp"

namespace twinax::app {

int repair_command(const RepairArguments& arguments) {
  try {
    const bool was_marked = record::repair_record(arguments.file);
    fmt::print("{}: {}\n", arguments.file, was_marked ? "the mark of a killed run is cleared" : "nothing to repair");
    return 0;
  } catch (const Error& error) {
    log_error(error.what());
    return 2;
  }
}

}  // namespace twinax::app
