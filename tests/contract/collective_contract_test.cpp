#include "contract/collective_contract.hpp"

#include "twinax/collective/own_collectives.hpp"

#include "support/node_members.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

/// An own algorithm on loopback; small segments, so that every large piece has several.
ContractRow own(const std::string& name, const std::string& algorithm, int ranks_per_node) {
  return {.name = name, .on_every_group = [algorithm, ranks_per_node](const std::function<void(Collectives&)>& body) {
            for (const test::Members& members : test::every_group()) {
              test::run_members(members, [&](net::Transport& transport, const Group& group) {
                body(*make_own(transport, group, {.algorithm = algorithm, .segment = Bytes{1024}, .ranks_per_node = ranks_per_node}));
              });
            }
          }};
}

/// Direct collectives of threads.
ContractRow direct(const std::string& name, test::Buffers buffers) {
  return {.name = name, .on_every_group = [buffers](const std::function<void(Collectives&)>& body) {
            constexpr Bytes kHeap{1 << 20};
            for (const test::Members& members : test::every_group()) {
              const auto memory = test::common_memory(members.size(), kHeap);
              test::run_loopback(members.world, [&](net::Transport& transport, const net::WaitContext& wait) {
                const Group group = members.seen_from(transport.rank());
                if (group.index < 0) return;
                test::with_direct(transport, wait, group, memory, kHeap, buffers, {.segment = Bytes{1024}}, body);
              });
            }
          }};
}

std::vector<ContractRow> rows() {
  std::vector<ContractRow> rows;
  for (const AlgorithmRow& algorithm : kAlgorithms) rows.push_back(own(std::string(algorithm.name), std::string(algorithm.name), 1));
  for (const int ranks_per_node : {2, 3}) {
    rows.push_back(own("hierarchical_" + std::to_string(ranks_per_node), "hierarchical", ranks_per_node));
  }
  rows.push_back(direct("direct_staged", test::Buffers::Private));
  rows.push_back(direct("direct_in_place", test::Buffers::Heap));
  rows.push_back(direct("direct_mixed", test::Buffers::Mixed));
  rows.push_back(direct("direct_without_room", test::Buffers::NoRoom));
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Own, CollectiveContract, ::testing::ValuesIn(rows()), [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace twinax::collective
