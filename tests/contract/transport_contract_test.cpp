#include "contract/transport_contract.hpp"

#include "support/run_loopback.hpp"

namespace twinax::net {
namespace {

TransportRowUnderTest loopback(const std::string& wrapping, int ranks) {
  return {wrapping + std::to_string(ranks), [wrapping, ranks](const RankBody& body) {
            const auto bytes = static_cast<std::size_t>(NicBoard::size(ranks).value);
            const std::shared_ptr<std::byte[]> board = std::make_shared<std::byte[]>(bytes);
            test::run_loopback(ranks,
                               [&](Transport& bare, const WaitContext& context) { with_wrapping(wrapping, bare, context, board, body); });
          }};
}

INSTANTIATE_TEST_SUITE_P(Loopback, TransportContract,
                         ::testing::Values(loopback("bare", 1), loopback("bare", 2), loopback("bare", 5), loopback("shaped", 1),
                                           loopback("shaped", 2), loopback("shaped", 5), loopback("counted", 3)),
                         row_name);

}  // namespace
}  // namespace twinax::net
