#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "twinax/base/clock.hpp"
#include "twinax/base/units.hpp"
#include "twinax/net/transport.hpp"

#include "app/bench_figures.hpp"

namespace twinax::app {

/// The patterns in which ranks exchange messages.
enum class Pattern : std::uint8_t { Latency, Bandwidth, Bidirectional, Incast };

/// How an exchange is measured.
struct ExchangeOptions {
  Pattern pattern = Pattern::Latency;
  Bytes size{1};
  std::int64_t in_flight = 1;  ///< messages of a sender at once; 1 for latencies
  std::int64_t iterations = 0;
  std::int64_t warmup = 1;
  bool check = true;
};

/// What an exchange took.
struct ExchangeResult {
  std::vector<double> seconds_each;  ///< for each iteration, the time of one message
  std::int64_t wrong = -1;           ///< bytes; -1 = not checked
};

/// Messages between one rank (the first) and others: one other, or for incasts any number. Others are told by the first what to do next.
class Exchange {
 public:
  /// `peers`: for the first rank, the others; for another, the first alone. `control` is not shaped. Both outlive it.
  Exchange(net::Transport& data, net::Transport& control, Clock& clock, bool is_first, std::vector<int> peers);

  /// Runs an exchange with the same options on all its ranks. The first rank's result holds for all.
  ExchangeResult run(const ExchangeOptions& options);

 private:
  struct Order;
  void once(const ExchangeOptions& options);
  void once_as_first(const ExchangeOptions& options);
  void once_as_other(const ExchangeOptions& options);
  void receive_all(const ExchangeOptions& options, std::size_t peer);
  void send_all(const ExchangeOptions& options, int to);
  void wait(std::vector<net::Request>& requests);
  void go(bool is_sent);
  void order(BenchPlan& plan);
  [[nodiscard]] std::int64_t check(const ExchangeOptions& options);
  [[nodiscard]] std::int64_t summed(std::int64_t mine);

  net::Transport& data_;
  net::Transport& control_;
  Clock& clock_;
  bool is_first_;
  std::vector<int> peers_;
  std::vector<std::byte> out_, in_;
  std::vector<net::Request> receives_, sends_;
};

}  // namespace twinax::app
