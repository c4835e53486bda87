#include "twinax/collective/choice.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"

namespace twinax::collective {
namespace {

constexpr std::string_view kPrefix = "collective ";
constexpr std::string_view kAny = "any";

std::string names_of(std::span<const AlgorithmRow> rows) {
  std::string names;
  for (const AlgorithmRow& row : rows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

Choice parse_line(const std::string& line) {
  std::istringstream words(line.substr(kPrefix.size()));
  std::string operation, size, algorithm;
  if (!(words >> operation >> size >> algorithm) || !size.ends_with(':')) {
    throw InvalidArgument(fmt::format("\"{}\" is no choice of a collective algorithm: like \"collective all_gather 64KiB: ring\"", line));
  }
  size.pop_back();
  const auto* const found = std::ranges::find(kOperations, operation);
  if (found == kOperations.end()) throw InvalidArgument(fmt::format("\"{}\": there is no collective \"{}\"", line, operation));
  Choice choice{.operation = static_cast<Operation>(found - kOperations.begin()), .algorithm = algorithm};
  if (size != kAny) choice.up_to = parse_bytes(size);
  return choice;
}

}  // namespace

void check_choices(const std::vector<Choice>& choices) {
  std::array<Bytes, kOperations.size()> last{};
  std::array<bool, kOperations.size()> is_seen{};
  for (const Choice& choice : choices) {
    const auto at = static_cast<std::size_t>(choice.operation);
    const std::span<const AlgorithmRow> rows = algorithms_of(choice.operation);
    if (std::ranges::find(rows, choice.algorithm, &AlgorithmRow::name) == rows.end()) {
      throw InvalidArgument(fmt::format("{} has no algorithm \"{}\": {}", kOperations[at], choice.algorithm, names_of(rows)));
    }
    if (choice.up_to < Bytes{0} || (is_seen[at] && choice.up_to <= last[at])) {
      throw InvalidArgument(fmt::format("the sizes of {}'s algorithms do not rise at \"{}\"", kOperations[at], choice.algorithm));
    }
    last[at] = choice.up_to;
    is_seen[at] = true;
  }
}

std::string to_text(const std::vector<Choice>& choices) {
  std::string text;
  for (const Choice& choice : choices) {
    text += fmt::format("{}{} {}: {}\n", kPrefix, kOperations[static_cast<std::size_t>(choice.operation)],
                        choice.up_to == Choice{}.up_to ? std::string(kAny) : twinax::to_text(choice.up_to), choice.algorithm);
  }
  return text;
}

std::vector<Choice> parse_choices(std::string_view text) {
  std::vector<Choice> choices;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kPrefix)) choices.push_back(parse_line(line));
  }
  check_choices(choices);
  return choices;
}

}  // namespace twinax::collective
