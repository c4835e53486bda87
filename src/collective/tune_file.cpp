#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/toml.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/base/write_file.hpp"
#include "twinax/collective/choice.hpp"

namespace twinax::collective {
namespace {

constexpr std::string_view kRanks = "ranks-";
constexpr std::string_view kPerNode = "per-node-";

[[noreturn]] void refuse(const TomlFile& file, const TomlEntry& entry, const std::string& why) {
  throw ConfigError(fmt::format("{}:{}: {}: {}", file.path, entry.line, entry.key, why));
}

/// The number after `prefix`; none if it isn't there, or not from 1 on.
std::optional<int> number_after(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

/// "mpi.ranks-4.per-node-2.all_gather" in its parts.
std::pair<TuneKey, Operation> parse_key(const TomlFile& file, const TomlEntry& entry) {
  std::vector<std::string> parts{""};
  for (const char c : entry.key) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  constexpr std::string_view kExpected = "a table per transport, ranks and ranks a node is expected, like [mpi.ranks-4.per-node-2]";
  if (parts.size() != 4) refuse(file, entry, std::string(kExpected));
  const std::optional<int> ranks = number_after(kRanks, parts[1]);
  const std::optional<int> per_node = number_after(kPerNode, parts[2]);
  if (!ranks || !per_node || *per_node > *ranks) refuse(file, entry, std::string(kExpected));
  const auto* const found = std::ranges::find(kOperations, parts[3]);
  if (found == kOperations.end()) refuse(file, entry, "a collective is expected: all_gather, reduce_scatter, all_reduce or broadcast");
  return {{.transport = parts[0], .ranks = *ranks, .ranks_per_node = *per_node}, static_cast<Operation>(found - kOperations.begin())};
}

Choice parse_item(const TomlFile& file, const TomlEntry& entry, Operation operation, std::size_t at) {
  const auto* const text = std::get_if<std::string>(&entry.value.items[at]);
  if (text == nullptr) refuse(file, entry, "texts are expected, like [\"64KiB exchange\", \"ring\"]");
  const bool is_last = at + 1 == entry.value.items.size();
  const std::size_t space = text->find(' ');
  if (is_last != (space == std::string::npos)) {
    refuse(file, entry,
           fmt::format("\"{}\": a size and an algorithm are expected, like \"64KiB exchange\", and at the end an algorithm alone", *text));
  }
  Choice choice{.operation = operation, .algorithm = is_last ? *text : text->substr(space + 1)};
  try {
    if (!is_last) choice.up_to = parse_bytes(text->substr(0, space));
  } catch (const InvalidArgument& error) {
    refuse(file, entry, error.what());
  }
  return choice;
}

void add_entry(const TomlFile& file, const TomlEntry& entry, std::vector<TuneTable>& tables) {
  const auto [key, operation] = parse_key(file, entry);
  std::vector<Choice> choices;
  if (!entry.value.is_array || entry.value.items.empty()) refuse(file, entry, "a list is expected, like [\"64KiB exchange\", \"ring\"]");
  for (std::size_t i = 0; i < entry.value.items.size(); ++i) choices.push_back(parse_item(file, entry, operation, i));
  try {
    check_choices(choices);
  } catch (const InvalidArgument& error) {
    refuse(file, entry, error.what());
  }
  auto table = std::ranges::find(tables, key, &TuneTable::key);
  if (table == tables.end()) table = tables.insert(tables.end(), {.key = key, .choices = {}});
  table->choices.insert(table->choices.end(), choices.begin(), choices.end());
}

std::vector<TuneTable> tables_of(const TomlFile& file) {
  std::vector<TuneTable> tables;
  for (const TomlEntry& entry : file.entries) add_entry(file, entry, tables);
  return tables;
}

}  // namespace

std::vector<TuneTable> load_tune_file(const std::string& path) {
  return tables_of(read_toml(path));
}

std::vector<TuneTable> parse_tune_file(const std::string& text, const std::string& path) {
  return tables_of(parse_toml(text, path));
}

std::string to_text(const std::vector<TuneTable>& tables) {
  std::string text =
      "# Collective algorithms by size, as measured: \"64KiB exchange\" is for wholes of up to 64 KiB, the last for all above.\n";
  for (const TuneTable& table : tables) {
    text += fmt::format("\n[{}.{}{}.{}{}]\n", table.key.transport, kRanks, table.key.ranks, kPerNode, table.key.ranks_per_node);
    for (std::size_t o = 0; o < kOperations.size(); ++o) {
      std::string items;
      for (const Choice& choice : table.choices) {
        if (static_cast<std::size_t>(choice.operation) != o) continue;
        const bool is_bound = choice.up_to != Choice{}.up_to;
        items +=
            fmt::format("{}\"{}{}\"", items.empty() ? "" : ", ", is_bound ? twinax::to_text(choice.up_to) + " " : "", choice.algorithm);
      }
      if (!items.empty()) text += fmt::format("{} = [{}]\n", kOperations[o], items);
    }
  }
  return text;
}

void save_tune_file(const std::string& path, const std::vector<TuneTable>& tables) {
  for (const TuneTable& table : tables) check_choices(table.choices);
  write_file(path, to_text(tables));
}

std::vector<Choice> choices_for(const std::vector<TuneTable>& tables, const TuneKey& key) {
  const auto found = std::ranges::find(tables, key, &TuneTable::key);
  return found == tables.end() ? std::vector<Choice>{} : found->choices;
}

}  // namespace twinax::collective
