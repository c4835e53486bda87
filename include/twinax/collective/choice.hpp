#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/base/units.hpp"

namespace twinax::collective {

/// What is moved.
enum class Operation : std::uint8_t { AllGather, ReduceScatter, AllReduce, Broadcast };

/// The names of the operations, in the order of their values: as tune files and results write them.
inline constexpr std::array<std::string_view, 4> kOperations{"all_gather", "reduce_scatter", "all_reduce", "broadcast"};

/// An algorithm, by name.
struct AlgorithmRow {
  std::string_view name, help;
};

/// The algorithms that an operation has, by name; which of them can run depends on the group (see `OwnOptions`).
[[nodiscard]] std::span<const AlgorithmRow> algorithms_of(Operation operation);

/// Which algorithm an operation takes for wholes (all members' pieces together, in fp32) of at most `up_to`.
struct Choice {
  Operation operation = Operation::AllGather;
  Bytes up_to{std::numeric_limits<std::int64_t>::max()};  ///< the largest value: any size
  std::string algorithm;                                  ///< a name of algorithms_of(operation)
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// What measured choices hold for.
struct TuneKey {
  std::string transport;  ///< a name of net::kTransports
  int ranks = 1;
  int ranks_per_node = 1;
  friend auto operator<=>(const TuneKey&, const TuneKey&) = default;
};

/// The choices for one key: for each operation in rising order of `up_to`, the last without a bound.
struct TuneTable {
  TuneKey key;
  std::vector<Choice> choices;
};

/// Reads a tune file:
///
///     [mpi.ranks-4.per-node-2]                 # transport, ranks, ranks a node
///     all_gather = ["64KiB exchange", "direct"]  # up to 64 KiB the first, above it the last
///
/// Throws FileError; ConfigError (file, line, what is allowed) for anything that is no such file.
[[nodiscard]] std::vector<TuneTable> load_tune_file(const std::string& path);
/// The same for a text; `path` is used in messages only.
[[nodiscard]] std::vector<TuneTable> parse_tune_file(const std::string& text, const std::string& path);
/// What such a file holds.
[[nodiscard]] std::string to_text(const std::vector<TuneTable>& tables);
/// Writes such a file, or replaces it in one go. Throws FileError.
void save_tune_file(const std::string& path, const std::vector<TuneTable>& tables);
/// The choices for a key; none if it was not measured.
[[nodiscard]] std::vector<Choice> choices_for(const std::vector<TuneTable>& tables, const TuneKey& key);

/// Choices as lines of a record's choices: "collective all_gather 64KiB: exchange", "collective all_gather any: direct".
[[nodiscard]] std::string to_text(const std::vector<Choice>& choices);
/// Reads such lines, skipping all others. Throws InvalidArgument.
[[nodiscard]] std::vector<Choice> parse_choices(std::string_view text);

/// Throws InvalidArgument for an algorithm that its operation doesn't have, and for sizes that don't rise.
void check_choices(const std::vector<Choice>& choices);

}  // namespace twinax::collective
