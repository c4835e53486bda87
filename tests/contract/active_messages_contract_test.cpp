#include "contract/active_messages_contract.hpp"

#include "support/run_loopback.hpp"

namespace twinax::net {
namespace {

ActiveRow loopback(const std::string& wrapping, int ranks) {
  return {wrapping + std::to_string(ranks), [wrapping, ranks](const ActiveBody& body) {
            const auto bytes = static_cast<std::size_t>(NicBoard::size(ranks).value);
            const std::shared_ptr<std::byte[]> board = std::make_shared<std::byte[]>(bytes);
            test::run_loopback(ranks, [&](Transport& bare, const WaitContext& context) {
              with_wrapping(wrapping, bare, context, board, [&](Transport& transport) { body(transport, context); });
            });
          }};
}

INSTANTIATE_TEST_SUITE_P(Loopback, ActiveMessagesContract,
                         ::testing::Values(loopback("bare", 1), loopback("bare", 2), loopback("bare", 3), loopback("bare", 4),
                                           loopback("shaped", 1), loopback("shaped", 2), loopback("shaped", 4), loopback("counted", 3)),
                         active_row_name);

}  // namespace
}  // namespace twinax::net
