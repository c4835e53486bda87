#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/collective/choice.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/collective/node_memory.hpp"

#include "app/bench_session.hpp"

namespace twinax::app {

/// The operation that algorithms are chosen for; none for barriers.
[[nodiscard]] std::optional<collective::Operation> operation_of(BenchCollective collective);

/// Every name that an algorithm has, for any collective.
[[nodiscard]] std::vector<std::string> bench_algorithm_names();

/// The collectives by each algorithm that can run on these ranks, and the memory that their buffers are best in.
class BenchAlgorithms {
 public:
  /// `names`: those asked for; `buffers`: what a rank's buffers take at most. Collective.
  BenchAlgorithms(BenchSession& session, std::span<const std::string> names, Bytes buffers);

  struct Algorithm {
    std::string name;
    std::unique_ptr<collective::Collectives> collectives;
    std::vector<BenchCollective> runs;  ///< what it is an algorithm of
  };
  /// Those of a collective; with bf16 on the wire without those that are then the same as pairwise.
  [[nodiscard]] std::vector<const Algorithm*> of(BenchCollective collective, Dtype wire) const;
  /// What a buffer of collectives is made in: memory that the ranks' peers read, where there is such.
  [[nodiscard]] std::pmr::memory_resource* memory() const;

 private:
  void share_memory(Bytes buffers);
  void add_own(const std::string& name);
  void add_native();

  BenchSession& session_;
  std::unique_ptr<collective::NodeMemory> node_;
  std::vector<Algorithm> algorithms_;
};

}  // namespace twinax::app
