#include "twinax/collective/own_collectives.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "twinax/base/error.hpp"

#include "collective/algorithms.hpp"
#include "collective/direct/algorithms.hpp"
#include "collective/rows.hpp"
#include "collective/sizes.hpp"

namespace twinax::collective {
namespace {

/// All-reduces of at most this many bytes take one step instead of 2 (P - 1).
constexpr Bytes kSmall{4096};

bool has_algorithm(Operation operation, std::string_view name) {
  const auto rows = algorithms_of(operation);
  return std::ranges::find(rows, name, &AlgorithmRow::name) != rows.end();
}

/// What an operation takes that no choice was measured for.
std::vector<Choice> default_choices(Operation operation, const std::string& algorithm, const Means& means) {
  std::string name = algorithm;
  if (name == "auto") name = is_able("direct", means) ? "direct" : is_able("hierarchical", means) ? "hierarchical" : "ring";
  if (!has_algorithm(operation, name)) name = operation == Operation::Broadcast ? "tree" : "ring";
  std::vector<Choice> choices;
  const bool has_small_form = name == "direct" || name == "exchange" || name == "recursive";
  if (operation == Operation::AllReduce && !has_small_form) choices.push_back({operation, kSmall, "exchange"});
  choices.push_back({.operation = operation, .algorithm = name});
  return choices;
}

std::vector<Choice> resolve(const OwnOptions& options, const Means& means) {
  check_choices(options.choices);
  std::vector<Choice> all;
  for (std::size_t o = 0; o < kOperations.size(); ++o) {
    const auto operation = static_cast<Operation>(o);
    std::vector<Choice> choices;
    for (const Choice& choice : options.choices) {
      if (choice.operation == operation) choices.push_back(choice);
    }
    if (choices.empty()) choices = default_choices(operation, options.algorithm, means);
    choices.back().up_to = Choice{}.up_to;
    for (Choice& choice : choices) {
      if (!is_able(choice.algorithm, means)) choice.algorithm = fallback_of(operation, choice.algorithm);
    }
    all.insert(all.end(), choices.begin(), choices.end());
  }
  return all;
}

/// An operation's algorithms by size.
template <class Run>
class BySize {
 public:
  BySize(Operation operation, const std::vector<Choice>& choices, Run (*by_name)(std::string_view)) {
    for (const Choice& choice : choices) {
      if (choice.operation == operation) entries_.push_back({choice.up_to.value, by_name(choice.algorithm), choice.algorithm == "direct"});
    }
  }
  [[nodiscard]] Run run(std::size_t bytes) const { return at(bytes).run; }
  [[nodiscard]] bool is_direct(std::size_t bytes) const { return at(bytes).is_direct; }

 private:
  struct Entry {
    std::int64_t up_to;
    Run run;
    bool is_direct;
  };
  [[nodiscard]] const Entry& at(std::size_t bytes) const {
    for (const Entry& entry : entries_) {
      if (static_cast<std::int64_t>(bytes) <= entry.up_to) return entry;
    }
    return entries_.back();
  }
  std::vector<Entry> entries_;
};

class ChosenCollectives final : public OwnCollectives {
 public:
  ChosenCollectives(Means means, const OwnOptions& options)
      : means_(std::move(means)),
        choices_(resolve(options, means_)),
        all_gathers_(Operation::AllGather, choices_, all_gather_by),
        reduce_scatters_(Operation::ReduceScatter, choices_, reduce_scatter_by),
        all_reduces_(Operation::AllReduce, choices_, all_reduce_by),
        broadcasts_(Operation::Broadcast, choices_, broadcast_by) {}

  [[nodiscard]] const Group& group() const override { return means_.channel.group(); }
  [[nodiscard]] const std::vector<Choice>& choices() const override { return choices_; }

  void all_gather(std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose) override {
    check_pieces("all-gather", shard.size(), whole.size(), group().size());
    all_gathers_.run(whole.size_bytes())(means_, shard, whole, wire, purpose);
  }

  void reduce_scatter(std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) override {
    check_pieces("reduce-scatter", shard.size(), whole.size(), group().size());
    reduce_scatters_.run(whole.size_bytes())(means_, whole, shard, wire, purpose);
  }

  void all_reduce(std::span<float> values, Dtype wire, net::Purpose purpose) override {
    all_reduces_.run(values.size_bytes())(means_, values, wire, purpose);
  }

  void all_reduce(std::span<double> values, net::Purpose purpose) override {
    if (all_reduces_.is_direct(values.size_bytes()) && values.size_bytes() <= NodeMemory::kSlotBytes) {
      direct::all_reduce_slots(*means_.team, values, purpose);
    } else {
      all_reduce_exchange(means_, values, purpose);
    }
  }

  void all_gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose) override {
    check_pieces("all-gather of bytes", mine.size(), all.size(), group().size());
    if (all_gathers_.is_direct(all.size()) && mine.size() <= NodeMemory::kSlotBytes) {
      direct::all_gather_slots(*means_.team, mine, all, purpose);
    } else {
      all_gather_exchange(means_.channel, mine, all, purpose);
    }
  }

  void broadcast(std::span<std::byte> data, int root, net::Purpose purpose) override {
    check_root(root, group().size());
    broadcasts_.run(data.size())(means_, data, root, purpose);
  }

  void barrier() override {
    if (all_reduces_.is_direct(0)) {
      direct::barrier(*means_.team);
    } else {
      barrier_dissemination(means_.channel);
    }
  }

 private:
  Means means_;
  std::vector<Choice> choices_;
  BySize<AllGather> all_gathers_;
  BySize<ReduceScatter> reduce_scatters_;
  BySize<AllReduce> all_reduces_;
  BySize<Broadcast> broadcasts_;
};

}  // namespace

std::unique_ptr<OwnCollectives> make_own(net::Transport& transport, Group group, const OwnOptions& options) {
  if (std::ranges::find(kAlgorithms, options.algorithm, &AlgorithmRow::name) == kAlgorithms.end()) {
    std::string names;
    for (const AlgorithmRow& row : kAlgorithms) names += (names.empty() ? "" : ", ") + std::string(row.name);
    throw InvalidArgument("the collective algorithm \"" + options.algorithm + "\" is not known: " + names);
  }
  const int per_node = std::max(options.ranks_per_node, 1);
  const NodeLayout layout{.nodes = (group.size() + per_node - 1) / per_node, .ranks_per_node = per_node};
  std::unique_ptr<direct::Team> team;
  if (options.node != nullptr) {
    if (options.wait.clock == nullptr) throw InvalidArgument("direct collectives wait by a clock, and there is none");
    team = std::make_unique<direct::Team>(*options.node, group, options.wait, options.count);
  }
  Means means{.channel = Channel(transport, std::move(group), options.lane, options.segment, options.activity, options.clock),
              .layout = layout,
              .team = std::move(team)};
  return std::make_unique<ChosenCollectives>(std::move(means), options);
}

}  // namespace twinax::collective
