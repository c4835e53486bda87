#include "app/fit.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

namespace twinax::app {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;

/// A point that fits up to `most`, waits for memory up to `retrying`, and runs out of it above.
std::function<Trial(std::int64_t)> point_of(std::int64_t most, std::int64_t retrying) {
  return [=](std::int64_t value) {
    Trial trial{.value = value, .retries = 0, .out_of_memory = ""};
    if (value > most) trial.retries = 3;
    if (value > retrying) trial.out_of_memory = "no room for activations";
    return trial;
  };
}

std::vector<std::int64_t> values_of(const Fit& fit) {
  std::vector<std::int64_t> values;
  for (const Trial& trial : fit.trials) values.push_back(trial.value);
  return values;
}

TEST(FindFit, FindsTheLargestValueOfEveryRange) {
  for (std::int64_t maximum = 1; maximum <= 70; ++maximum) {
    for (std::int64_t most = 0; most <= maximum + 1; ++most) {
      const Fit fit = find_fit({.minimum = 1, .maximum = maximum}, point_of(most, most));
      if (most == 0) {
        EXPECT_EQ(fit.value, std::nullopt);
      } else {
        EXPECT_EQ(fit.value, std::min(most, maximum)) << "up to " << maximum;
      }
      const auto tried = values_of(fit);
      EXPECT_EQ(std::set(tried.begin(), tried.end()).size(), tried.size()) << "no value is run twice";
      EXPECT_LE(tried.size(), static_cast<std::size_t>(1 + std::bit_width(static_cast<std::uint64_t>(maximum)))) << maximum;
    }
  }
}

TEST(FindFit, FindsTheLargestValueWhateverIsGuessed) {
  for (std::int64_t most = 0; most <= 40; ++most) {
    for (std::int64_t guess = -1; guess <= 42; ++guess) {
      const Fit fit = find_fit({.minimum = 1, .maximum = 40, .guess = guess}, point_of(most, most));
      EXPECT_EQ(fit.value.value_or(0), most) << guess;
      const auto tried = values_of(fit);
      EXPECT_EQ(std::set(tried.begin(), tried.end()).size(), tried.size()) << "no value is run twice";
      EXPECT_LE(tried.size(), 1U + 6U + 2U) << most << " where " << guess << " was guessed";
    }
  }
}

TEST(FindFit, ARightGuessNeedsThreeTrials) {
  EXPECT_THAT(values_of(find_fit({.minimum = 1, .maximum = 1000, .guess = 77}, point_of(77, 77))), ElementsAre(1, 77, 78));
  EXPECT_THAT(values_of(find_fit({.minimum = 1, .maximum = 1000, .precision = 0.05, .guess = 100}, point_of(103, 103))),
              ElementsAre(1, 100, 106));
}

TEST(FindFit, StopsAtItsPrecision) {
  for (std::int64_t most = 1; most <= 300; ++most) {
    const Fit fit = find_fit({.minimum = 1, .maximum = 300, .precision = 0.05}, point_of(most, most));
    ASSERT_TRUE(fit.value.has_value());
    EXPECT_LE(*fit.value, most);
    EXPECT_GE(static_cast<double>(*fit.value) * 1.05, static_cast<double>(most));
  }
}

TEST(FindFit, ARetryIsNoFit) {
  EXPECT_EQ(find_fit({.minimum = 1, .maximum = 64}, point_of(20, 50)).value, 20);
}

TEST(FindFit, TriesTheMinimumFirstAndNothingMoreIfThatFails) {
  const Fit fit = find_fit({.minimum = 4, .maximum = 1000}, point_of(3, 3));
  EXPECT_EQ(fit.value, std::nullopt);
  EXPECT_THAT(values_of(fit), ElementsAre(4));
  EXPECT_EQ(fit.trials.front().out_of_memory, "no room for activations");
}

TEST(FindFit, HalvesWhatIsLeft) {
  EXPECT_THAT(values_of(find_fit({.minimum = 1, .maximum = 16}, point_of(10, 10))), ElementsAre(1, 9, 13, 11, 10));
}

TEST(FindFit, TriesASingleValueOnce) {
  EXPECT_THAT(values_of(find_fit({.minimum = 7, .maximum = 7}, point_of(7, 7))), ElementsAre(7));
}

TEST(FindFit, DoesNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(find_fit({.minimum = 0, .maximum = kMost}, point_of(kMost, kMost)).value, kMost);
  EXPECT_EQ(find_fit({.minimum = 0, .maximum = kMost}, point_of(12345, kMost)).value, 12345);
}

TEST(FindFit, RefusesAnEmptyRange) {
  EXPECT_THROW((void)find_fit({.minimum = 2, .maximum = 1}, point_of(1, 1)), InvalidArgument);
}

TEST(FindFit, LetsOtherErrorsThrough) {
  EXPECT_THROW((void)find_fit({.minimum = 1, .maximum = 8}, [](std::int64_t) -> Trial { throw PeerLost("gone"); }), PeerLost);
}

TEST(OutcomeOf, NamesWhatCameOfATrial) {
  EXPECT_THAT(outcome_of({.value = 1, .retries = 0, .out_of_memory = ""}), StrEq("fits"));
  EXPECT_THAT(outcome_of({.value = 1, .retries = 2, .out_of_memory = ""}), StrEq("retries"));
  EXPECT_THAT(outcome_of({.value = 1, .retries = 2, .out_of_memory = "x"}), StrEq("out of memory"));
}

}  // namespace
}  // namespace twinax::app
