#include "app/bench_algorithms.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/collective/native_mpi.hpp"
#include "twinax/collective/own_collectives.hpp"

namespace twinax::app {
namespace {

using collective::Operation;

constexpr std::string_view kDissemination = "dissemination";  // the barrier by messages
constexpr std::uint8_t kFirstLane = 8;

bool is_direct(std::string_view name) {
  return name == "direct";
}

/// With bf16 on the wire these take the pairwise exchange, in which contributions travel instead of sums.
bool is_pairwise_in_bf16(BenchCollective collective, std::string_view name) {
  if (name == "exchange") return collective == BenchCollective::AllReduce;
  if (name != "ring" && name != "recursive" && name != "hierarchical") return false;
  return collective == BenchCollective::ReduceScatter || collective == BenchCollective::AllReduce;
}

}  // namespace

std::optional<Operation> operation_of(BenchCollective collective) {
  switch (collective) {
    case BenchCollective::AllGather:
      return Operation::AllGather;
    case BenchCollective::ReduceScatter:
      return Operation::ReduceScatter;
    case BenchCollective::AllReduce:
      return Operation::AllReduce;
    case BenchCollective::Broadcast:
      return Operation::Broadcast;
    case BenchCollective::Barrier:
      break;
  }
  return std::nullopt;
}

std::vector<std::string> bench_algorithm_names() {
  std::vector<std::string> names;
  for (const BenchCollective collective : bench_collectives()) {
    const std::optional<Operation> operation = operation_of(collective);
    if (!operation) continue;
    for (const collective::AlgorithmRow& row : collective::algorithms_of(*operation)) {
      if (std::ranges::find(names, row.name) == names.end()) names.emplace_back(row.name);
    }
  }
  names.emplace_back(kDissemination);
  names.emplace_back(kNativeAlgorithm);
  return names;
}

BenchAlgorithms::BenchAlgorithms(BenchSession& session, std::span<const std::string> names, Bytes buffers) : session_(session) {
  share_memory(buffers);
  for (const std::string& name : names) {
    if (name == kNativeAlgorithm) {
      add_native();
    } else {
      add_own(name);
    }
  }
}

/// Memory in common, if all ranks are of one host and nothing is shaped. Collective.
void BenchAlgorithms::share_memory(Bytes buffers) {
  net::World& world = session_.world();
  if (session_.profile() != nullptr || world.size() < 2 || std::ssize(world.ranks_on_host()) < world.size()) return;
  try {
    const auto memory = world.share(collective::NodeMemory::size(world.size(), buffers));
    node_ = std::make_unique<collective::NodeMemory>(memory, world.size(), world.rank(), buffers);
  } catch (const SystemError& error) {
    if (session_.is_root()) log_warn(fmt::format("no direct collectives, since ranks have no memory in common: {}", error.what()));
  }
}

void BenchAlgorithms::add_own(const std::string& name) {
  net::World& world = session_.world();
  collective::OwnOptions options{.lane = static_cast<std::uint8_t>(kFirstLane + algorithms_.size()),
                                 .algorithm = "ring",
                                 .activity = &world.activities()[1],
                                 .clock = &world.clock(),
                                 .ranks_per_node = session_.place().ranks_per_node,
                                 .node = is_direct(name) ? node_.get() : nullptr,
                                 .wait = world.wait_context(),
                                 .count = [counted = &session_.links().transport()](int to_rank, std::int64_t bytes, net::Purpose purpose) {
                                   counted->add(to_rank, Bytes{bytes}, purpose);
                                 }};
  for (const BenchCollective collective : bench_collectives()) {
    const std::optional<Operation> operation = operation_of(collective);
    if (!operation) continue;
    const auto rows = collective::algorithms_of(*operation);
    if (std::ranges::find(rows, name, &collective::AlgorithmRow::name) != rows.end()) {
      options.choices.push_back({.operation = *operation, .algorithm = name});
    }
  }
  const collective::Group group = collective::Group::first(world.size(), world.rank());
  auto own = collective::make_own(session_.links().transport(), group, options);
  Algorithm algorithm{.name = name};
  for (const BenchCollective collective : bench_collectives()) {
    const std::optional<Operation> operation = operation_of(collective);
    const auto is_whole = [&](const collective::Choice& choice) {
      return choice.operation == *operation && choice.algorithm == name && choice.up_to == collective::Choice{}.up_to;
    };
    // What can't run here has been replaced.
    const bool runs =
        operation ? std::ranges::any_of(own->choices(), is_whole) : name == kDissemination || (is_direct(name) && node_ != nullptr);
    if (runs) algorithm.runs.push_back(collective);
  }
  algorithm.collectives = std::move(own);
  algorithms_.push_back(std::move(algorithm));
}

void BenchAlgorithms::add_native() {
  net::World& world = session_.world();
  if (world.mpi_comm() == nullptr || session_.profile() != nullptr) return;
  const auto all = bench_collectives();
  algorithms_.push_back({.name = std::string(kNativeAlgorithm),
                         .collectives = collective::make_native_mpi(*world.mpi_comm(), collective::Group::first(world.size(), world.rank()),
                                                                    world.wait_context()),
                         .runs = {all.begin(), all.end()}});
}

std::vector<const BenchAlgorithms::Algorithm*> BenchAlgorithms::of(BenchCollective collective, Dtype wire) const {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : algorithms_) {
    if (std::ranges::find(algorithm.runs, collective) == algorithm.runs.end()) continue;
    if (wire == Dtype::Bf16 && is_pairwise_in_bf16(collective, algorithm.name)) continue;
    found.push_back(&algorithm);
  }
  return found;
}

std::pmr::memory_resource* BenchAlgorithms::memory() const {
  return node_ != nullptr ? static_cast<std::pmr::memory_resource*>(node_.get()) : std::pmr::new_delete_resource();
}

}  // namespace twinax::app
