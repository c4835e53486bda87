#include "twinax/collective/native_mpi.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/activity.hpp"
#include "twinax/base/clock.hpp"
#include "twinax/base/error.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/collective/traffic.hpp"

#include "support/counting_transport.hpp"
#include "support/mpi_world.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

using test::world;

constexpr std::size_t kPiece = 1500;  // elements

Group everyone() {
  return Group::first(world().size(), world().rank());
}

std::unique_ptr<NativeCollectives> make_for_all(const net::WaitContext& context) {
  return make_native_mpi(*world().mpi_comm(), everyone(), context);
}

/// What all ranks say that they sent for `purpose`.
test::SentBytes sent_of_all(const NativeCollectives& native, net::Purpose purpose) {
  const auto ranks = static_cast<std::size_t>(world().size());
  const std::size_t purposes = net::kPurposes.size();
  std::vector<std::int64_t> all(ranks * ranks * purposes);
  make_own(world().transport(), everyone(), {})
      ->all_gather_bytes(std::as_bytes(std::span(native.sent())), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  test::SentBytes sent(world().size());
  for (std::size_t k = 0; k < ranks * ranks; ++k) {
    sent.at(static_cast<int>(k / ranks), static_cast<int>(k % ranks)) = all[k * purposes + static_cast<std::size_t>(purpose)];
  }
  return sent;
}

void expect_as_said(Operation operation, const std::string& algorithm, std::size_t bytes_of_piece,
                    const std::function<void(Collectives&)>& run) {
  const auto native = make_for_all(world().wait_context());
  run(*native);
  const Bytes whole{static_cast<std::int64_t>(bytes_of_piece) * world().size()};
  test::SentBytes sent = sent_of_all(*native, net::Purpose::Gradients);
  for (const int ranks_per_node : {1, 2, 3}) {
    const Traffic said = traffic(operation, algorithm, whole, world().size(), ranks_per_node);
    EXPECT_EQ(sent.most_into_node(ranks_per_node), said.into_node.value) << ranks_per_node << " ranks a node";
    EXPECT_EQ(sent.most_into_rank(ranks_per_node), said.into_rank.value) << ranks_per_node << " ranks a node";
  }
  test::SentBytes others = sent_of_all(*native, net::Purpose::Parameters);
  EXPECT_EQ(others.most_into_node(1), 0) << "of another purpose";
}

TEST(NativeMpi, CountsWhatTheClosedFormsSay) {
  const auto ranks = static_cast<std::size_t>(world().size());
  for (const Dtype wire : {Dtype::Fp32, Dtype::Bf16}) {
    const std::string reduces_by = wire == Dtype::Fp32 ? "ring" : "pairwise";
    const std::size_t piece = kPiece * static_cast<std::size_t>(size_of(wire).value);
    expect_as_said(Operation::AllGather, "ring", piece, [&](Collectives& collectives) {
      const std::vector<float> shard(kPiece);
      std::vector<float> whole(kPiece * ranks);
      collectives.all_gather(shard, whole, wire, net::Purpose::Gradients);
    });
    expect_as_said(Operation::ReduceScatter, reduces_by, piece, [&](Collectives& collectives) {
      std::vector<float> whole(kPiece * ranks);
      std::vector<float> shard(kPiece);
      collectives.reduce_scatter(whole, shard, wire, net::Purpose::Gradients);
    });
    expect_as_said(Operation::AllReduce, reduces_by, piece, [&](Collectives& collectives) {
      std::vector<float> values(kPiece * ranks - (ranks - 1));  // padded to pieces of kPiece
      collectives.all_reduce(values, wire, net::Purpose::Gradients);
    });
  }
  expect_as_said(Operation::AllReduce, "ring", kPiece * sizeof(double), [&](Collectives& collectives) {
    std::vector<double> values(kPiece * ranks);
    collectives.all_reduce(values, net::Purpose::Gradients);
  });
  expect_as_said(Operation::AllGather, "ring", kPiece, [&](Collectives& collectives) {
    const std::vector<std::byte> mine(kPiece);
    std::vector<std::byte> all(kPiece * ranks);
    collectives.all_gather_bytes(mine, all, net::Purpose::Gradients);
  });
}

TEST(NativeMpi, CountsABroadcastOnceForEachOtherRank) {
  const int ranks = world().size();
  const auto native = make_for_all(world().wait_context());
  std::vector<std::byte> data(100);
  native->broadcast(data, ranks - 1, net::Purpose::Gradients);
  test::SentBytes sent = sent_of_all(*native, net::Purpose::Gradients);
  for (int to = 0; to < ranks; ++to) {
    std::int64_t received = 0;
    for (int from = 0; from < ranks; ++from) received += sent.at(from, to);
    EXPECT_EQ(received, to == ranks - 1 ? 0 : 100) << "rank " << to;
  }
}

TEST(NativeMpi, CountsByTheRanksOfTheWorld) {
  test::Members reversed = test::all_of(world().size());
  std::ranges::reverse(reversed.ranks);
  const auto native = make_native_mpi(*world().mpi_comm(), reversed.seen_from(world().rank()), world().wait_context());
  const std::vector<std::byte> mine(10);
  std::vector<std::byte> all(10 * static_cast<std::size_t>(world().size()));
  native->all_gather_bytes(mine, all, net::Purpose::Metrics);
  const int before = (world().rank() + world().size() - 1) % world().size();  // the next one of the group
  for (int to = 0; to < world().size(); ++to) {
    const std::int64_t bytes = native->sent()[static_cast<std::size_t>(to) * net::kPurposes.size() + 3];
    EXPECT_EQ(bytes, to == before && to != world().rank() ? 10 * (world().size() - 1) : 0) << "to rank " << to;
  }
}

TEST(NativeMpi, BeginsNothingOnceTheJobIsEnding) {
  const std::atomic<std::uint32_t> ending{1};
  net::WaitContext context = world().wait_context();
  context.ending = &ending;
  const auto native = make_for_all(context);
  if (world().rank() == 0) {  // alone: had it begun, it would wait for the others
    EXPECT_THAT([&] { native->barrier(); }, ::testing::ThrowsMessage<PeerLost>(::testing::HasSubstr("beginning native/barrier")));
    std::vector<double> values(1);
    EXPECT_THROW(native->all_reduce(values, net::Purpose::Metrics), PeerLost);
  }
  world().sleep_barrier();
}

/// Ends the job in its first sleep, which is the wait's; `then` comes with the second, when the operation is being drained.
class EndingClock final : public Clock {
 public:
  EndingClock(Clock& clock, const ActivitySlot& slot, std::function<void()> then) : clock_(clock), slot_(slot), then_(std::move(then)) {}
  [[nodiscard]] Seconds now() const override { return clock_.now(); }
  void sleep_until(Seconds deadline) override {
    ++sleeps_;
    if (sleeps_ == 1) shown = slot_.read();
    if (sleeps_ == 1) ending = 1;
    if (sleeps_ == 2) then_();
    clock_.sleep_until(deadline);
  }
  std::atomic<std::uint32_t> ending{0};
  Activity shown;  // in the first sleep

 private:
  Clock& clock_;
  const ActivitySlot& slot_;
  std::function<void()> then_;
  int sleeps_ = 0;
};

TEST(NativeMpi, ThrowsFromAWaitAfterTheOperationIsDrained) {
  if (world().size() == 1) return;  // one rank waits for nobody
  constexpr net::Tag kGo{5U << 14};
  ActivitySlot slot;
  EndingClock clock(world().clock(), slot, [&] {
    for (int to = 1; to < world().size(); ++to) {  // the others come only now
      net::Request go = world().transport().send({}, to, kGo, net::Purpose::Control);
      world().transport().wait(go);
    }
  });
  net::WaitContext context = world().wait_context();
  if (world().rank() == 0) {
    context.clock = &clock;
    context.ending = &clock.ending;
    context.activity = &slot;
  }
  const auto native = make_for_all(context);
  if (world().rank() == 0) {
    EXPECT_THROW(native->barrier(), PeerLost);
    EXPECT_STREQ(clock.shown.op.data(), "native/barrier");
    EXPECT_EQ(clock.shown.waits_for, 1) << "the next member";
    EXPECT_EQ(slot.read().waits_for, -1);
  } else {
    net::Request go = world().transport().receive({}, 0, kGo);
    world().transport().wait(go);
    native->barrier();
  }
}

TEST(NativeMpi, RefusesARankOutsideTheGroup) {
  EXPECT_THROW((void)make_native_mpi(*world().mpi_comm(), {.ranks = everyone().ranks, .index = -1}, world().wait_context()),
               InvalidArgument);
}

}  // namespace
}  // namespace twinax::collective
