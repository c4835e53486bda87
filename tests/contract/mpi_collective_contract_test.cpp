#include "twinax/collective/native_mpi.hpp"
#include "twinax/collective/own_collectives.hpp"

#include "contract/collective_contract.hpp"
#include "support/mpi_world.hpp"
#include "support/node_members.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

/// All ranks in order and reversed, and the odd ones alone.
std::vector<test::Members> groups_of_this_world() {
  const int size = test::world().size();
  test::Members reversed = test::all_of(size);
  std::ranges::reverse(reversed.ranks);
  test::Members odd{.world = size, .ranks = {}};
  for (int rank = size - 1; rank >= 0; --rank) {
    if (rank % 2 == 1) odd.ranks.push_back(rank);
  }
  std::vector<test::Members> groups{test::all_of(size), reversed};
  if (odd.size() > 0) groups.push_back(odd);
  return groups;
}

ContractRow row(const std::string& name, const std::function<std::unique_ptr<Collectives>(const Group&)>& make) {
  return {.name = name, .on_every_group = [make](const std::function<void(Collectives&)>& body) {
            for (const test::Members& members : groups_of_this_world()) {
              const Group group = members.seen_from(test::world().rank());
              if (group.index >= 0) body(*make(group));
              test::world().sleep_barrier();
            }
          }};
}

ContractRow own(const std::string& name, const std::string& algorithm, int ranks_per_node) {
  return row(name, [algorithm, ranks_per_node](const Group& group) {
    return make_own(test::world().transport(), group, {.algorithm = algorithm, .segment = Bytes{1024}, .ranks_per_node = ranks_per_node});
  });
}

/// Direct collectives of processes; sharing is collective on all ranks, also on those outside the group.
ContractRow direct(const std::string& name, test::Buffers buffers) {
  return {.name = name, .on_every_group = [buffers](const std::function<void(Collectives&)>& body) {
            constexpr Bytes kHeap{1 << 20};
            for (const test::Members& members : groups_of_this_world()) {
              const auto memory = test::world().share(NodeMemory::size(members.size(), kHeap));
              const Group group = members.seen_from(test::world().rank());
              if (group.index >= 0) {
                test::with_direct(test::world().transport(), test::world().wait_context(), group, memory, kHeap, buffers,
                                  {.segment = Bytes{1024}}, body);
              }
              test::world().sleep_barrier();
            }
          }};
}

const ContractRow kNative = row("native", [](const Group& group) -> std::unique_ptr<Collectives> {
  return make_native_mpi(*test::world().mpi_comm(), group, test::world().wait_context());
});

std::vector<ContractRow> rows() {
  return {own("ring", "ring", 1),
          own("recursive", "recursive", 1),
          own("hierarchical", "hierarchical", 2),
          direct("direct_staged", test::Buffers::Private),
          direct("direct_in_place", test::Buffers::Heap),
          direct("direct_mixed", test::Buffers::Mixed),
          direct("direct_without_room", test::Buffers::NoRoom),
          kNative};
}

INSTANTIATE_TEST_SUITE_P(Mpi, CollectiveContract, ::testing::ValuesIn(rows()), [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace twinax::collective
