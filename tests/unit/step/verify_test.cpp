#include "twinax/step/verify.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

using test::Draft;
using test::fault_of;
using test::make_op;
using test::Numbers;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Gather, forward and reduce of one unit, as a right schedule has them.
Draft right_draft() {
  Draft draft;
  draft.pools = {{.name = "gathered units", .capacity = 1}};
  draft.buffers = {{.name = "parameters", .size = Bytes{64}}};
  draft.ops = {make_op(LaneKind::Collective, "gather"), make_op(LaneKind::Compute, "forward", {OpId{0}}),
               make_op(LaneKind::Compute, "backward")};
  draft.ops[0].produces = {{0}};
  draft.ops[0].takes = {{.pool = {0}}};
  draft.ops[1].uses = {{0}};
  draft.ops[2].releases = {{0}};
  draft.ops[2].gives = {{.pool = {0}}};
  return draft;
}

TEST(Verify, AcceptsAnEmptyGraph) {
  EXPECT_EQ(fault_of(StepGraph{}), "");
}

TEST(Verify, AcceptsARightSchedule) {
  EXPECT_EQ(fault_of(right_draft().build()), "");
}

TEST(Verify, AcceptsABufferAndAPoolThatNobodyNames) {
  Draft draft = right_draft();
  draft.buffers.push_back({.name = "spare", .size = Bytes{8}});
  draft.pools.push_back({.name = "spare", .capacity = 1});
  EXPECT_EQ(fault_of(draft.build()), "");
}

TEST(Verify, AcceptsAnOrderThatOnlyLanesAndOthersGiveTransitively) {
  // produce (collective) -> a (compute) -> b (compute, lane order) -> use (service): `use` names only b.
  Draft draft;
  draft.buffers = {{.name = "x", .size = Bytes{1}}};
  draft.ops = {make_op(LaneKind::Collective, "produce"), make_op(LaneKind::Compute, "a", {OpId{0}}), make_op(LaneKind::Compute, "b"),
               make_op(LaneKind::Service, "use", {OpId{2}})};
  draft.ops[0].produces = {{0}};
  draft.ops[3].uses = {{0}};
  draft.ops[3].releases = {{0}};
  EXPECT_EQ(fault_of(draft.build()), "");
  draft.ops[3].after.clear();
  EXPECT_EQ(fault_of(draft.build()),
            "this schedule can't be run: the buffer \"x\" is used by \"use\", which is not ordered after \"produce\"");
}

TEST(Verify, SeesAnOrderOverMoreOpsThanAWordHasBits) {
  Draft draft;
  draft.buffers = {{.name = "x", .size = Bytes{1}}};
  for (std::size_t i = 0; i < 200; ++i) draft.ops.push_back(make_op(i % 2 == 0 ? LaneKind::Compute : LaneKind::Service, "op"));
  draft.ops[0].produces = {{0}};
  draft.ops[199].after = {OpId{198}};
  draft.ops[199].releases = {{0}};
  EXPECT_EQ(fault_of(draft.build()), "");
  draft.ops[199].after = {};
  EXPECT_THAT(fault_of(draft.build()), HasSubstr("is released by \"op\", which is not ordered after"));
}

TEST(Verify, RefusesABufferThatIsUsedButNeverProduced) {
  Draft draft = right_draft();
  draft.ops[0].produces.clear();
  EXPECT_EQ(fault_of(draft.build()), "this schedule can't be run: the buffer \"parameters\" is used by \"forward\" but produced by none");
  draft.ops[1].uses.clear();
  EXPECT_EQ(fault_of(draft.build()), "this schedule can't be run: the buffer \"parameters\" is used by \"backward\" but produced by none");
}

TEST(Verify, RefusesABufferThatIsProducedTwice) {
  Draft draft = right_draft();
  draft.ops[1].produces = {{0}};
  EXPECT_EQ(fault_of(draft.build()), "this schedule can't be run: the buffer \"parameters\" is produced twice, last by \"forward\"");
}

TEST(Verify, RefusesABufferThatIsReleasedTwice) {
  Draft draft = right_draft();
  draft.ops[1].releases = {{0}};
  EXPECT_EQ(fault_of(draft.build()), "this schedule can't be run: the buffer \"parameters\" is released twice, last by \"backward\"");
}

TEST(Verify, RefusesABufferThatIsNeverReleased) {
  Draft draft = right_draft();
  draft.ops[2].releases.clear();
  EXPECT_EQ(fault_of(draft.build()), "this schedule can't be run: the buffer \"parameters\" is never released");
}

TEST(Verify, RefusesAUseThatIsNotOrderedAfterTheProducer) {
  Draft draft = right_draft();
  draft.ops[1].after.clear();
  EXPECT_EQ(fault_of(draft.build()),
            "this schedule can't be run: the buffer \"parameters\" is used by \"forward\", which is not ordered after \"gather\"");
}

TEST(Verify, RefusesAUseBeforeTheProducer) {
  Draft draft = right_draft();
  draft.ops[0].produces.clear();
  draft.ops[2].produces = {{0}};
  EXPECT_THAT(fault_of(draft.build()), HasSubstr("is used by \"forward\", which is not ordered after \"backward\""));
}

TEST(Verify, RefusesAReleaseWhileAUseMayStillRun) {
  Draft draft = right_draft();
  draft.ops[2] = make_op(LaneKind::Service, "release", {OpId{0}});
  draft.ops[2].releases = {{0}};
  draft.ops[2].gives = {{.pool = {0}}};
  EXPECT_EQ(fault_of(draft.build()),
            "this schedule can't be run: the buffer \"parameters\" is released by \"release\", which is not ordered after \"forward\"");
}

TEST(Verify, RefusesAReleaseThatIsNotOrderedAfterTheProducer) {
  Draft draft = right_draft();
  draft.ops[1].uses.clear();
  draft.ops[1].after.clear();
  EXPECT_THAT(fault_of(draft.build()), HasSubstr("is released by \"backward\", which is not ordered after \"gather\""));
}

TEST(Verify, RefusesAnOpThatTakesMoreThanItsPoolHolds) {
  Draft draft = right_draft();
  draft.ops[0].takes[0].amount = 2;
  draft.ops[2].gives[0].amount = 2;
  EXPECT_EQ(fault_of(draft.build()), "this schedule can't be run: \"gather\" takes 2 credits of \"gathered units\", which holds 1");
  draft.pools[0].capacity = 0;
  EXPECT_EQ(fault_of(draft.build()), "") << "an unlimited pool holds any number";
}

TEST(Verify, RefusesTwoTakesOfAnOpThatTogetherExceedThePool) {
  Draft draft = right_draft();
  draft.ops[0].takes.push_back({.pool = {0}});
  draft.ops[2].gives.push_back({.pool = {0}});
  EXPECT_THAT(fault_of(draft.build()), HasSubstr("\"gather\" waits for credits of \"gathered units\""));
}

TEST(Verify, RefusesAStepThatWouldHangForCredits) {
  // The second gather is issued before the op that gives the first one's credit back.
  Draft draft = right_draft();
  draft.ops[2].gives.push_back({.pool = {0}});
  draft.ops[1].takes = {{.pool = {0}}};
  EXPECT_EQ(fault_of(draft.build()),
            "this schedule can't be run: \"forward\" waits for credits of \"gathered units\" that only ops issued after it give back");
  draft.pools[0].capacity = 2;
  EXPECT_EQ(fault_of(draft.build()), "");
}

TEST(Verify, RefusesCreditsThatStayOut) {
  Draft draft = right_draft();
  draft.ops[2].gives.clear();
  EXPECT_EQ(fault_of(draft.build()), "this schedule can't be run: the pool \"gathered units\" ends a step with 1 credits out");
}

TEST(Verify, RefusesCreditsThatAreGivenButNotTaken) {
  Draft draft = right_draft();
  draft.ops[0].takes.clear();
  EXPECT_EQ(fault_of(draft.build()),
            "this schedule can't be run: \"backward\" gives credits of \"gathered units\" that have not been taken by then");
}

TEST(Verify, RefusesCreditsThatAreGivenBeforeTheyAreTaken) {
  // As many as are taken in all: but a step can't lend to itself.
  Draft draft = right_draft();
  std::swap(draft.ops[0].takes, draft.ops[2].takes);
  std::swap(draft.ops[0].gives, draft.ops[2].gives);
  EXPECT_THAT(fault_of(draft.build()), HasSubstr("\"gather\" gives credits of \"gathered units\" that have not been taken by then"));
}

TEST(Verify, RefusesAmountsBelowOne) {
  for (const std::int64_t amount : {0, -1}) {
    Draft draft = right_draft();
    draft.ops[0].takes[0].amount = amount;
    draft.ops[2].gives[0].amount = amount;
    EXPECT_THAT(fault_of(draft.build()), HasSubstr("\"gather\" takes or gives " + std::to_string(amount) + " credits"));
  }
}

/// The slow reference of the order: for each op, what is complete before it begins, by search.
std::vector<std::vector<bool>> earlier_ops(const Draft& draft) {
  std::vector<std::vector<bool>> before(draft.ops.size(), std::vector<bool>(draft.ops.size(), false));
  for (std::size_t i = 0; i < draft.ops.size(); ++i) {
    std::vector<std::size_t> open;
    const auto visit = [&](std::size_t op) {
      for (const OpId id : draft.ops[op].after) open.push_back(id.index);
      for (std::size_t j = 0; j < op; ++j) {
        if (draft.ops[j].lane == draft.ops[op].lane) open.push_back(j);
      }
    };
    for (visit(i); !open.empty();) {
      const std::size_t op = open.back();
      open.pop_back();
      if (before[i][op]) continue;
      before[i][op] = true;
      visit(op);
    }
  }
  return before;
}

/// Whether one buffer's life is right, by the rules as they are written.
bool life_is_right(const Draft& draft, std::size_t buffer, const std::vector<std::vector<bool>>& before) {
  std::vector<std::size_t> producers, users, releasers;
  for (std::size_t i = 0; i < draft.ops.size(); ++i) {
    const auto count = [&](const std::vector<BufferId>& ids) { return std::count(ids.begin(), ids.end(), BufferId{buffer}); };
    producers.insert(producers.end(), static_cast<std::size_t>(count(draft.ops[i].produces)), i);
    users.insert(users.end(), static_cast<std::size_t>(count(draft.ops[i].uses)), i);
    releasers.insert(releasers.end(), static_cast<std::size_t>(count(draft.ops[i].releases)), i);
  }
  if (producers.empty() && users.empty() && releasers.empty()) return true;
  if (producers.size() != 1 || releasers.size() != 1) return false;
  const auto ordered = [&](std::size_t first, std::size_t second) { return first == second || before[second][first]; };
  bool right = ordered(producers[0], releasers[0]);
  for (const std::size_t user : users) right = right && ordered(producers[0], user) && ordered(user, releasers[0]);
  return right;
}

/// Whether one pool's credits suffice: runs the issue in program order at its slowest and at its fastest.
bool credits_suffice(const Draft& draft, std::size_t pool) {
  const std::int64_t capacity = draft.pools[pool].capacity;
  std::int64_t out = 0;
  for (const Op& op : draft.ops) {
    for (const CreditUse& use : op.takes) out += use.pool.index == pool ? use.amount : 0;
    if (capacity != 0 && out > capacity) return false;  // though all earlier ops have given theirs back
    for (const CreditUse& use : op.gives) out -= use.pool.index == pool ? use.amount : 0;
    if (out < 0) return false;  // if the op completes before the next is issued
  }
  return out == 0;
}

bool is_right(const Draft& draft) {
  const auto before = earlier_ops(draft);
  for (std::size_t b = 0; b < draft.buffers.size(); ++b) {
    if (!life_is_right(draft, b, before)) return false;
  }
  for (std::size_t p = 0; p < draft.pools.size(); ++p) {
    if (!credits_suffice(draft, p)) return false;
  }
  return true;
}

/// Changes one thing, and says what.
std::string change(Draft& draft, Numbers& numbers) {
  Op& op = draft.ops[numbers.below(draft.ops.size())];
  const auto drop = [&](auto& list) {
    if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(numbers.below(list.size())));
  };
  switch (numbers.below(10)) {
    case 0:
      drop(op.releases);
      return "a release is dropped";
    case 1:
      drop(op.produces);
      return "a production is dropped";
    case 2:
      drop(op.after);
      return "a wait is dropped";
    case 3:
      drop(op.takes);
      return "a take is dropped";
    case 4:
      drop(op.gives);
      return "a give is dropped";
    case 5:
      if (!op.takes.empty()) ++op.takes[0].amount;
      return "a take is larger";
    case 6:
      if (!draft.buffers.empty()) op.uses.push_back({numbers.below(draft.buffers.size())});
      return "a use is added";
    case 7:
      if (!draft.buffers.empty()) op.releases.push_back({numbers.below(draft.buffers.size())});
      return "a release is added";
    case 8:
      op.lane = static_cast<LaneKind>(numbers.below(kLanes));
      return "an op changes its lane";
    default:
      std::swap(op.takes, draft.ops[numbers.below(draft.ops.size())].takes);
      return "takes are swapped";
  }
}

TEST(Verify, AcceptsRandomRightSchedules) {
  Numbers numbers(1);
  for (int round = 0; round < 500; ++round) {
    const Draft draft = test::random_draft(numbers);
    ASSERT_TRUE(is_right(draft)) << round;
    ASSERT_EQ(fault_of(draft.build()), "") << round;
  }
}

TEST(Verify, RefusesRandomChangesExactlyWhereTheyBreakARule) {
  Numbers numbers(2);
  std::array<int, 2> seen{};
  for (int round = 0; round < 3000; ++round) {
    Draft draft = test::random_draft(numbers);
    const std::string what = change(draft, numbers);
    const bool right = is_right(draft);
    const std::string fault = fault_of(draft.build());
    ASSERT_EQ(fault.empty(), right) << "round " << round << ", " << what << ": " << fault;
    if (!right) {
      ASSERT_THAT(fault, StartsWith("this schedule can't be run: "));
    }
    ++seen[right ? 1 : 0];
  }
  EXPECT_GT(seen[0], 500) << "many changes break a rule";
  EXPECT_GT(seen[1], 500) << "many do not";
}

}  // namespace
}  // namespace twinax::step
