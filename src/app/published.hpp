#pragma once

#include <string>
#include <vector>

#include "twinax/base/toml.hpp"
#include "twinax/record/sweep_index.hpp"

#include "app/sweep_file.hpp"

namespace twinax::app {

/// Reads one key of `[sweep.published.NAME]`; `key` is what follows `sweep.published.`. Throws ConfigError (file, line, key, what is
/// allowed).
void read_published_key(SweepFile& sweep, const TomlFile& file, const TomlEntry& entry, const std::string& key);

/// Refuses rows that say nothing, name no source, or belong to values that are on no axis. Throws ConfigError.
void check_published(const SweepFile& sweep);

/// The rows as the sweep's index has them.
[[nodiscard]] std::vector<record::IndexPublished> index_rows_of(const SweepFile& sweep);

}  // namespace twinax::app
