#include "contract/collective_contract.hpp"

#include "twinax/collective/own_collectives.hpp"

#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

/// An own algorithm on loopback; small segments, so that every large piece has several.
ContractRow own(const std::string& algorithm) {
  return {.name = algorithm, .on_every_group = [algorithm](const std::function<void(Collectives&)>& body) {
            for (const test::Members& members : test::every_group()) {
              test::run_members(members, [&](net::Transport& transport, const Group& group) {
                body(*make_own(transport, group, {.algorithm = algorithm, .segment = Bytes{1024}}));
              });
            }
          }};
}

std::vector<ContractRow> rows() {
  std::vector<ContractRow> rows;
  for (const AlgorithmRow& algorithm : kAlgorithms) rows.push_back(own(std::string(algorithm.name)));
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Own, CollectiveContract, ::testing::ValuesIn(rows()), [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace twinax::collective
