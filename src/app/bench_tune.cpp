#include "app/bench_tune.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>

#include "app/bench_figures.hpp"

namespace twinax::app {
namespace {

using collective::Choice;

constexpr double kWorthwhile = 0.95;

using Times = std::map<std::string, double>;  // seconds by algorithm

std::string fastest_of(const Times& times) {
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::ranges::min_element(times, less)->first;
}

/// Half way between two sizes, in whole kibibytes where that leaves it between them.
Bytes between(std::int64_t smaller, std::int64_t larger) {
  const auto middle = static_cast<std::int64_t>(std::sqrt(static_cast<double>(smaller) * static_cast<double>(larger)));
  constexpr std::int64_t kKibi = 1024;
  const std::int64_t rounded = middle / kKibi * kKibi;
  return {rounded >= smaller ? rounded : middle};
}

}  // namespace

std::vector<Choice> crossovers(collective::Operation operation, std::span<const record::BenchRow> figures) {
  const std::string_view name = collective::kOperations[static_cast<std::size_t>(operation)];
  std::map<std::int64_t, Times> by_size;
  for (const record::BenchRow& row : figures) {
    if (row.test != name || row.algorithm == kNativeAlgorithm) continue;
    const std::int64_t bytes = row.type == "bf16" ? 2 * row.bytes : row.bytes;
    by_size[bytes][row.algorithm] = row.seconds;
  }
  std::vector<Choice> choices;
  std::int64_t last = 0;
  for (const auto& [bytes, times] : by_size) {
    const std::string best = fastest_of(times);
    if (choices.empty()) {
      choices.push_back({.operation = operation, .algorithm = best});
    } else if (const auto current = times.find(choices.back().algorithm);
               current == times.end() || times.at(best) < kWorthwhile * current->second) {
      choices.back().up_to = between(last, bytes);
      choices.push_back({.operation = operation, .algorithm = best});
    }
    last = bytes;
  }
  return choices;
}

void merge_into(std::vector<collective::TuneTable>& tables, const collective::TuneTable& measured) {
  const auto found = std::ranges::find(tables, measured.key, &collective::TuneTable::key);
  if (found == tables.end()) {
    tables.push_back(measured);
    return;
  }
  std::vector<Choice> merged;
  for (std::size_t o = 0; o < collective::kOperations.size(); ++o) {
    const auto is_its = [&](const Choice& choice) { return choice.operation == static_cast<collective::Operation>(o); };
    const bool is_measured = std::ranges::any_of(measured.choices, is_its);
    std::ranges::copy_if(is_measured ? measured.choices : found->choices, std::back_inserter(merged), is_its);
  }
  found->choices = std::move(merged);
}

}  // namespace twinax::app
