#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/collective/collectives.hpp"

#include "support/nearest_bf16.hpp"

/// What every implementation of Collectives keeps to, for every row of a table: INSTANTIATE_TEST_SUITE_P(.., CollectiveContract, ..).
namespace twinax::collective {

/// One implementation. `on_every_group` runs a body on each member of several groups, of which one has one member, one an odd number, one
/// reversed order, as far as there are ranks for it. All members of a group are in the body at the same time.
struct ContractRow {
  std::string name;
  std::function<void(const std::function<void(Collectives&)>&)> on_every_group;
};

/// The test suite; a body sees only its own member, and expects on each what a slow reference says.
class CollectiveContract : public ::testing::TestWithParam<ContractRow> {
 protected:
  /// Sizes of pieces: none, one, none that is a whole segment or cache line, and above the size up to which all-reduces go directly.
  static std::vector<std::size_t> sizes() { return {0, 1, 17, 1000, 5000}; }
  static constexpr std::array kWires{Dtype::Fp32, Dtype::Bf16};

  /// What a member gives as element i: any number, and small whole numbers, whose sums are exact in any order and on any wire.
  static float given(int member, std::size_t i) {
    return static_cast<float>(Philox(5, Draw::Test, static_cast<std::uint32_t>(member)).normal(i));
  }
  static float given_whole(int member, std::size_t i) {
    return static_cast<float>((static_cast<std::size_t>(member) * 7 + i * 3) % 13) - 6;
  }

  static std::vector<float> values_of(int member, std::size_t first, std::size_t count, float (*element)(int, std::size_t)) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = element(member, first + i);
    return values;
  }

  static float on_wire(float value, Dtype wire) { return wire == Dtype::Bf16 ? test::through_bf16(value) : value; }

  /// The sum over all members in fp64, and how far an fp32 sum in any order may be from it.
  struct Sum {
    double value = 0;
    double tolerance = 0;
  };
  static Sum sum_of(int members, std::size_t i, Dtype wire) {
    Sum sum;
    for (int member = 0; member < members; ++member) {
      const auto part = static_cast<double>(on_wire(given(member, i), wire));
      sum.value += part;
      sum.tolerance += (members - 1) * 0x1.0p-24 * std::fabs(part);
    }
    return sum;
  }

  /// How far int8 in blocks of 64 may be from each element of a piece: half a step of its block's scale.
  static std::vector<double> int8_errors(const std::vector<float>& piece) {
    std::vector<double> errors(piece.size());
    for (std::size_t i = 0; i < piece.size(); ++i) {
      double& largest = errors[i / 64 * 64];
      largest = std::max<double>(largest, std::fabs(piece[i]) / 254 * (1 + 1e-5));
    }
    for (std::size_t i = 0; i < piece.size(); ++i) errors[i] = errors[i / 64 * 64];
    return errors;
  }

  static std::string where(const Collectives& collectives, std::size_t n, Dtype wire = Dtype::Fp32) {
    return std::to_string(n) + " elements, member " + std::to_string(collectives.group().index) + " of " +
           std::to_string(collectives.group().size()) + (wire == Dtype::Bf16 ? ", bf16" : ", fp32");
  }
  static std::size_t size_of_group(const Collectives& collectives) { return static_cast<std::size_t>(collectives.group().size()); }
};

TEST_P(CollectiveContract, GathersShardsInTheGroupsOrderAsTheyAreOnTheWire) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const Dtype wire : kWires) {
      for (const std::size_t n : sizes()) {
        const std::vector<float> shard = values_of(collectives.group().index, 0, n, given);
        std::vector<float> whole(n * size_of_group(collectives), std::nanf(""));
        collectives.all_gather(shard, whole, wire, net::Purpose::Parameters);
        std::vector<float> expected;
        for (int member = 0; member < collectives.group().size(); ++member) {
          for (std::size_t i = 0; i < n; ++i) expected.push_back(on_wire(given(member, i), wire));
        }
        EXPECT_EQ(whole, expected) << where(collectives, n, wire);
      }
    }
  });
}

TEST_P(CollectiveContract, GathersInt8WithinHalfAStepToTheSameBitsOnAll) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{1000}}) {
      const std::vector<float> shard = values_of(collectives.group().index, 0, n, given);
      std::vector<float> whole(n * size_of_group(collectives), std::nanf(""));
      collectives.all_gather(shard, whole, Dtype::Int8, net::Purpose::Parameters);
      for (int member = 0; member < collectives.group().size(); ++member) {
        const std::vector<float> piece = values_of(member, 0, n, given);
        const std::vector<double> errors = int8_errors(piece);
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_NEAR(whole[static_cast<std::size_t>(member) * n + i], piece[i], errors[i]) << where(collectives, n) << ", element " << i;
        }
      }
      std::vector<float> of_first = whole;
      collectives.broadcast(std::as_writable_bytes(std::span(of_first)), 0, net::Purpose::Metrics);
      EXPECT_EQ(of_first, whole) << where(collectives, n);
    }
  });
}

TEST_P(CollectiveContract, SumsInt8WithinHalfAStepOfEachContribution) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{1000}}) {
      const std::size_t own = static_cast<std::size_t>(collectives.group().index) * n;
      const std::vector<float> mine = values_of(collectives.group().index, 0, n * size_of_group(collectives), given);
      std::vector<float> whole = mine;
      std::vector<float> shard(n, std::nanf(""));
      collectives.reduce_scatter(whole, shard, Dtype::Int8, net::Purpose::Gradients);
      std::vector<float> values = mine;
      collectives.all_reduce(values, Dtype::Int8, net::Purpose::Gradients);
      std::vector<double> sums(n);
      std::vector<double> errors(n);
      for (int member = 0; member < collectives.group().size(); ++member) {
        const std::vector<float> piece = values_of(member, own, n, given);
        const std::vector<double> its = int8_errors(piece);
        for (std::size_t i = 0; i < n; ++i) {
          sums[i] += piece[i];
          errors[i] += its[i] + collectives.group().size() * 0x1.0p-23 * std::fabs(piece[i]);
        }
      }
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(shard[i], sums[i], errors[i]) << where(collectives, n) << ", element " << i;
        // The sum is rounded once more on its way to all: to bf16, by half a step.
        const double rounding = std::ldexp(std::fabs(sums[i]) + errors[i], -8);
        ASSERT_NEAR(values[own + i], sums[i], errors[i] + rounding) << where(collectives, n) << ", element " << i;
      }
    }
  });
}

TEST_P(CollectiveContract, GathersInPlace) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const Dtype wire : kWires) {
      for (const std::size_t n : sizes()) {
        const int me = collectives.group().index;
        std::vector<float> whole(n * size_of_group(collectives), std::nanf(""));
        const std::span<float> shard = std::span(whole).subspan(static_cast<std::size_t>(me) * n, n);
        std::ranges::copy(values_of(me, 0, n, given), shard.begin());
        collectives.all_gather(shard, whole, wire, net::Purpose::Parameters);
        for (std::size_t k = 0; k < whole.size(); ++k) {
          const float expected = on_wire(given(static_cast<int>(k / n), k % n), wire);
          ASSERT_EQ(whole[k], expected) << where(collectives, n, wire) << ", element " << k;
        }
      }
    }
  });
}

TEST_P(CollectiveContract, LeavesEachMemberWithItsSliceOfTheSum) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const Dtype wire : kWires) {
      for (const std::size_t n : sizes()) {
        const int me = collectives.group().index;
        std::vector<float> whole = values_of(me, 0, n * size_of_group(collectives), given);
        std::vector<float> shard(n, std::nanf(""));
        collectives.reduce_scatter(whole, shard, wire, net::Purpose::Gradients);
        for (std::size_t i = 0; i < n; ++i) {
          const Sum sum = sum_of(collectives.group().size(), static_cast<std::size_t>(me) * n + i, wire);
          EXPECT_NEAR(shard[i], sum.value, sum.tolerance) << where(collectives, n, wire) << ", element " << i;
        }
      }
    }
  });
}

TEST_P(CollectiveContract, KeepsSumsInFp32WhateverTheWire) {
  // 257 is no bf16: the first member gives 256, the others 1, and their sum must not be rounded on its way.
  GetParam().on_every_group([](Collectives& collectives) {
    const int members = collectives.group().size();
    std::vector<float> whole(static_cast<std::size_t>(members), collectives.group().index == 0 ? 256.0F : 1.0F);
    std::vector<float> shard(1);
    collectives.reduce_scatter(whole, shard, Dtype::Bf16, net::Purpose::Gradients);
    EXPECT_EQ(shard[0], 256.0F + static_cast<float>(members - 1)) << where(collectives, 1);
  });
}

TEST_P(CollectiveContract, SumsAnyLengthInPlaceToTheSameBitsOnAll) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const Dtype wire : kWires) {
      for (const std::size_t n : sizes()) {
        std::vector<float> values = values_of(collectives.group().index, 0, n, given);
        collectives.all_reduce(values, wire, net::Purpose::Gradients);
        for (std::size_t i = 0; i < n; ++i) {
          const Sum sum = sum_of(collectives.group().size(), i, wire);
          // With bf16 on the wire the sum is rounded once more, by half a step, on its way to all.
          const double rounding = wire == Dtype::Bf16 ? std::ldexp(std::fabs(sum.value) + sum.tolerance, -8) : 0;
          EXPECT_NEAR(values[i], sum.value, sum.tolerance + rounding) << where(collectives, n, wire) << ", element " << i;
        }
        std::vector<float> all(n * size_of_group(collectives));
        const auto mine = std::as_bytes(std::span(values));
        collectives.all_gather_bytes(mine, std::as_writable_bytes(std::span(all)), net::Purpose::Metrics);
        for (std::size_t k = 0; k < all.size(); ++k) EXPECT_EQ(all[k], values[k % n]) << where(collectives, n, wire) << ", element " << k;
      }
    }
  });
}

TEST_P(CollectiveContract, SumsWholeNumbersExactly) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const Dtype wire : kWires) {
      for (const std::size_t n : sizes()) {
        std::vector<float> values = values_of(collectives.group().index, 0, n, given_whole);
        collectives.all_reduce(values, wire, net::Purpose::Gradients);
        std::vector<float> expected(n);
        for (int member = 0; member < collectives.group().size(); ++member) {
          for (std::size_t i = 0; i < n; ++i) expected[i] += given_whole(member, i);
        }
        EXPECT_EQ(values, expected) << where(collectives, n, wire);
      }
    }
  });
}

TEST_P(CollectiveContract, SumsDoublesExactlyWhereFloatsWouldRound) {
  GetParam().on_every_group([](Collectives& collectives) {
    const int members = collectives.group().size();
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{700}}) {
      std::vector<double> values(n);
      for (std::size_t i = 0; i < n; ++i) values[i] = 0x1.0p40 + static_cast<double>(i) + collectives.group().index;
      collectives.all_reduce(values, net::Purpose::Metrics);
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(values[i], members * (0x1.0p40 + static_cast<double>(i)) + members * (members - 1) / 2) << where(collectives, n);
      }
    }
  });
}

TEST_P(CollectiveContract, CarriesInfinitiesAndNaNs) {
  GetParam().on_every_group([](Collectives& collectives) {
    const float infinity = std::numeric_limits<float>::infinity();
    const bool is_first = collectives.group().index == 0;
    for (const Dtype wire : kWires) {
      std::vector<float> values{is_first ? infinity : 1.0F, is_first ? std::nanf("") : 1.0F, 2.0F};
      collectives.all_reduce(values, wire, net::Purpose::Gradients);
      EXPECT_EQ(values[0], infinity);
      EXPECT_TRUE(std::isnan(values[1]));
      EXPECT_EQ(values[2], 2.0F * static_cast<float>(collectives.group().size()));
    }
  });
}

TEST_P(CollectiveContract, GathersBytes) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const std::size_t n : sizes()) {
      for (const bool is_in_place : {false, true}) {
        const auto byte = [](std::size_t member, std::size_t i) { return static_cast<std::byte>(member * 31 + i * 5 + 1); };
        const auto me = static_cast<std::size_t>(collectives.group().index);
        std::vector<std::byte> mine(n);
        std::vector<std::byte> all(n * size_of_group(collectives));
        std::vector<std::byte> expected(all.size());
        for (std::size_t i = 0; i < n; ++i) mine[i] = byte(me, i);
        for (std::size_t k = 0; k < all.size(); ++k) expected[k] = byte(k / n, k % n);
        if (is_in_place) std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(me * n));
        const std::span<const std::byte> piece = is_in_place ? std::span(all).subspan(me * n, n) : std::span(mine);
        collectives.all_gather_bytes(piece, all, net::Purpose::Control);
        EXPECT_EQ(all, expected) << where(collectives, n) << (is_in_place ? ", in place" : "");
      }
    }
  });
}

TEST_P(CollectiveContract, BroadcastsFromEveryMember) {
  GetParam().on_every_group([](Collectives& collectives) {
    for (const std::size_t n : sizes()) {
      for (int root = 0; root < collectives.group().size(); ++root) {
        const std::vector<std::byte> expected(n, static_cast<std::byte>(root + 1));
        std::vector<std::byte> data(n, collectives.group().index == root ? static_cast<std::byte>(root + 1) : std::byte{0});
        collectives.broadcast(data, root, net::Purpose::Control);
        EXPECT_EQ(data, expected) << "from " << root << ", " << where(collectives, n);
      }
    }
  });
}

TEST_P(CollectiveContract, KeepsOperationsOfOneGroupApart) {
  GetParam().on_every_group([](Collectives& collectives) {
    const int members = collectives.group().size();
    for (int round = 0; round < 50; ++round) {
      std::vector<double> counter{static_cast<double>(round)};
      collectives.all_reduce(counter, net::Purpose::Metrics);
      EXPECT_EQ(counter[0], round * members);
      std::vector<float> whole(size_of_group(collectives), static_cast<float>(round));
      std::vector<float> shard(1);
      collectives.reduce_scatter(whole, shard, round % 2 == 0 ? Dtype::Fp32 : Dtype::Bf16, net::Purpose::Gradients);
      EXPECT_EQ(shard[0], static_cast<float>(round * members));
      collectives.barrier();
    }
  });
}

TEST_P(CollectiveContract, RefusesSizesAndRootsThatDoNotFit) {
  GetParam().on_every_group([](Collectives& collectives) {
    const std::size_t members = size_of_group(collectives);
    std::vector<float> whole(members * 2 + 1);
    std::vector<float> shard(2);
    std::vector<std::byte> bytes(members * 2 + 1);
    EXPECT_THROW(collectives.all_gather(shard, whole, Dtype::Fp32, net::Purpose::Parameters), InvalidArgument);
    EXPECT_THROW(collectives.reduce_scatter(whole, shard, Dtype::Bf16, net::Purpose::Gradients), InvalidArgument);
    EXPECT_THROW(collectives.all_gather_bytes(std::span(bytes).first(2), bytes, net::Purpose::Control), InvalidArgument);
    EXPECT_THAT([&] { collectives.broadcast(bytes, static_cast<int>(members), net::Purpose::Control); },
                ::testing::ThrowsMessage<InvalidArgument>(::testing::HasSubstr("member " + std::to_string(members))));
    EXPECT_THROW(collectives.broadcast(bytes, -1, net::Purpose::Control), InvalidArgument);
    collectives.barrier();
  });
}

}  // namespace twinax::collective
