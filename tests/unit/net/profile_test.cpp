#include "twinax/net/profile.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/scratch_folder.hpp"

namespace twinax::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* kGood = R"([ethernet-1g]
rate = "1Gbit/s"
achievable = 0.9
latency = "30us"
in_node_rate = "80Gbit/s"
source = "test"
)";

TEST(Profile, ReadsQuantitiesWithTheirUnits) {
  const test::ScratchFolder folder;
  const auto profiles = read_profiles(folder.write("networks.toml", kGood));
  ASSERT_EQ(profiles.size(), 1U);
  EXPECT_EQ(profiles[0].name, "ethernet-1g");
  EXPECT_DOUBLE_EQ(profiles[0].usable_rate().value, 0.9 * 125e6);
  EXPECT_EQ(profiles[0].latency, Seconds{30e-6});
}

TEST(Profile, DividesRatesAndMultipliesTimesByTheDilation) {
  const test::ScratchFolder folder;
  const Profile slow = read_profiles(folder.write("networks.toml", kGood))[0].dilated(10);
  EXPECT_DOUBLE_EQ(slow.usable_rate().value, 0.9 * 12.5e6);
  EXPECT_DOUBLE_EQ(slow.latency.value, 300e-6);
  EXPECT_DOUBLE_EQ(slow.in_node_rate.value, 1e9);
}

TEST(Profile, NamesFileLineKeyAndWhatIsAllowed) {
  const test::ScratchFolder folder;
  const auto reading = [&](const std::string& text) {
    return [path = folder.write("networks.toml", text)] { static_cast<void>(read_profiles(path)); };
  };
  const std::string good(kGood);
  EXPECT_THAT(reading(good + "latensy = \"1us\"\n"),
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("networks.toml:7: ethernet-1g.latensy"), HasSubstr("did you mean latency?"))));
  EXPECT_THAT(reading("[x]\nrate = 25\n"), ThrowsMessage<ConfigError>(HasSubstr("networks.toml:2: x.rate: must be a text in quotes")));
  EXPECT_THAT(reading("[x]\nrate = \"25\"\n"), ThrowsMessage<ConfigError>(HasSubstr("networks.toml:2: x.rate")));
  EXPECT_THAT(reading("[x]\nachievable = 1.5\n"), ThrowsMessage<ConfigError>(HasSubstr("a share from 0 to 1")));
  EXPECT_THAT(reading("[x]\nrate = \"1Gbit/s\"\nin_node_rate = \"1Gbit/s\"\n"),
              ThrowsMessage<ConfigError>(HasSubstr("[x] lacks `source`")));
}

TEST(Profile, ReadsWhatItWrote) {
  const test::ScratchFolder folder;
  Profile profile{.name = "measured",
                  .rate = {1.174e8},
                  .achievable = 0.5,
                  .stream_rate = {3e7},
                  .latency = {31.25e-6},
                  .message_overhead = {1.5e-6},
                  .message_gap = {2.5e-6},
                  .jitter = {2e-6},
                  .tail_probability = 1e-3,
                  .tail = {2.5e-4},
                  .in_node_rate = {4e9},
                  .in_node_latency = {5e-7},
                  .source = "measured \"here\""};
  for (int round = 0; round < 2; ++round) {
    const Profile read = read_profiles(folder.write("networks.toml", to_toml(profile))).at(0);
    EXPECT_EQ(read.name, profile.name);
    EXPECT_EQ(read.source, profile.source);
    EXPECT_EQ(read.achievable, profile.achievable);
    EXPECT_EQ(read.tail_probability, profile.tail_probability);
    for (const auto rate : {&Profile::rate, &Profile::stream_rate, &Profile::in_node_rate}) EXPECT_EQ(read.*rate, profile.*rate);
    for (const auto time : {&Profile::latency, &Profile::message_overhead, &Profile::message_gap, &Profile::jitter, &Profile::tail,
                            &Profile::in_node_latency})
      EXPECT_EQ(read.*time, profile.*time);
    profile = {.name = "least", .rate = {1e9}, .in_node_rate = {1e9}, .source = "test"};  // what is not said stays out
  }
}

TEST(Profile, NamesTheNearestOfUnknownNetworks) {
  const test::ScratchFolder folder;
  const auto profiles = read_profiles(folder.write("networks.toml", kGood));
  EXPECT_THAT([&] { static_cast<void>(find_profile(profiles, "ethernet-2g")); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("did you mean ethernet-1g?"), HasSubstr("none, ethernet-1g"))));
}

TEST(Profile, FindsEveryNetworkThatTheCatalogPromises) {
  const auto profiles = read_profiles(TWINAX_SOURCE_DIR "/experiments/catalog/networks.toml");
  for (const char* name : {"ethernet-1g", "ethernet-10g", "ethernet-25g", "ethernet-100g", "ethernet-400g", "roce-100g", "efa-100g",
                           "efa-400g", "infiniband-edr", "infiniband-hdr", "infiniband-ndr", "nvlink-a100", "nvlink-h100"}) {
    EXPECT_FALSE(find_profile(profiles, name).source.empty()) << name;
  }
  // IBM Vela: 120 of 2 x 100 Gbit/s a node were usable (pytorch.org blog, 2022).
  EXPECT_DOUBLE_EQ(find_profile(profiles, "ethernet-200g-vela").usable_rate().value, 120e9 / 8);
}

}  // namespace
}  // namespace twinax::net
