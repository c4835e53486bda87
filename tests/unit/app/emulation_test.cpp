#include "app/emulation.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "app/cluster_catalog.hpp"
#include "app/stood_for.hpp"
#include "support/scratch_folder.hpp"

namespace twinax::app {
namespace {

using ::testing::HasSubstr;
using ::twinax::test::ScratchFolder;

const std::string kCatalogs = TWINAX_CATALOGS;  // experiments/catalog

Config of(const std::vector<std::string>& assignments) {
  Config config;
  for (const char* key : {"model.catalog=/models.toml", "net.catalog=/networks.toml", "emulate.catalog=/accelerators.toml",
                          "emulate.clusters=/clusters.toml"}) {
    const std::string text = key;
    const std::size_t slash = text.find('/');
    config.set(text.substr(0, slash) + kCatalogs + text.substr(slash));
  }
  for (const std::string& assignment : assignments) config.set(assignment);
  take_catalog_cluster(config);
  return config;
}

std::string refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Clusters, AreTakenWhereTheConfigSetsNothingItself) {
  const Config vela = of({"emulate.cluster=ibm-vela"});
  EXPECT_EQ(vela.text("emulate.accelerator"), "a100");
  EXPECT_EQ(vela.integer("emulate.accelerators"), 8);
  EXPECT_EQ(vela.integer("emulate.nodes"), 32);
  EXPECT_EQ(vela.text("net.profile"), "ethernet-200g-vela");
  const Config mixed = of({"emulate.cluster=ibm-vela", "net.profile=infiniband-hdr", "emulate.nodes=4"});
  EXPECT_EQ(mixed.text("net.profile"), "infiniband-hdr");
  EXPECT_EQ(mixed.integer("emulate.nodes"), 4);
  EXPECT_THAT(refusal_of([] { (void)of({"emulate.cluster=ibm-vella"}); }), HasSubstr("did you mean ibm-vela?"));
}

TEST(Clusters, OfTheCatalogNameAcceleratorsAndNetworksThatThereAre) {
  for (const Cluster& cluster : read_clusters(kCatalogs + "/clusters.toml")) {
    EXPECT_EQ(find_accelerator(kCatalogs + "/accelerators.toml", cluster.accelerator).name, cluster.accelerator);
    EXPECT_EQ(net::find_profile(net::read_profiles(kCatalogs + "/networks.toml"), cluster.network).name, cluster.network);
  }
}

TEST(Clusters, OfAFileThatIsWrongAreRefusedByLine) {
  ScratchFolder folder;
  const auto refusal = [&](const std::string& text) {
    const std::string path = folder.write("clusters.toml", text);
    return refusal_of([&] { (void)read_clusters(path); });
  };
  EXPECT_THAT(refusal("[a]\naccelerators = 0\n"), HasSubstr(":2: a.accelerators: must be a whole number from 1 up"));
  EXPECT_THAT(refusal("[a]\nnetwork = 3\n"), HasSubstr("must be a text in quotes"));
  EXPECT_THAT(refusal("[a]\nmemory = \"3\"\n"), HasSubstr("is not a key of a cluster"));
  EXPECT_THAT(refusal("nodes = 3\n"), HasSubstr("stands outside any cluster's table"));
  EXPECT_THAT(refusal("[a]\nnodes = 3\n"), HasSubstr("[a] lacks one of"));
}

TEST(StoodFor, KnowsTheLargeT5) {
  const auto model = stood_for(of({"emulate.model=t5-11b"}));
  ASSERT_TRUE(model.has_value());
  EXPECT_NEAR(model->parameters, 11.135e9, 0.001e9);
  // Of 96 (54 s h^2 + 12 s^2 h) + 6 s h V, which counts each block's forward twice, a step that computes nothing twice has three quarters;
  // the head, counted three times there, has all of its.
  const double h = 4096;
  const double s = 512;
  const double blocks = 96 * (54 * s * h * h + 12 * s * s * h) * 0.75;
  EXPECT_NEAR(model->sequence.value / (blocks + 6 * s * h * 32128), 1, 0.01);
  EXPECT_FALSE(stood_for(of({})).has_value());
  EXPECT_EQ(stood_for(of({"emulate.parameters=1e9"}))->parameters, 1e9);
  EXPECT_THAT(refusal_of([] { (void)stood_for(of({"emulate.parameters=1e9", "emulate.model=t5-3b"})); }), HasSubstr("are both set"));
}

TEST(Memory, IsWhatTheStateLeavesOfTheAccelerator) {
  const Config config = of({"emulate.cluster=ibm-vela", "emulate.model=t5-11b"});
  const double parameters = stood_for(config)->parameters;
  const std::vector<nn::UnitSpec> units{{.name = "all", .elements = 16 << 20}};  // 16 Mi parameters, gathered as 64 MiB
  const double p = 16 << 20;
  const auto memory = [&](const std::vector<std::string>& more, int nodes) {
    std::vector<std::string> assignments{"emulate.cluster=ibm-vela", "emulate.model=t5-11b"};
    assignments.insert(assignments.end(), more.begin(), more.end());
    return static_cast<double>(emulated_memory(of(assignments), units, nodes, nodes).value);
  };
  const auto expected = [&](double sharers, double here) {
    return (80e9 - 16 * parameters / sharers) * (4 * p) / (2 * parameters) + 16 * p / here;
  };
  EXPECT_NEAR(memory({}, 2) / expected(256, 2), 1, 1e-6) << "two nodes stand for 32";
  EXPECT_NEAR(memory({}, 1) / expected(8, 1), 1, 1e-6) << "one stands for itself";
  EXPECT_NEAR(memory({"emulate.nodes=0"}, 2) / expected(16, 2), 1, 1e-6);
  EXPECT_NEAR(memory({"fsdp.strategy=hybrid"}, 2) / expected(8, 2), 1, 1e-6);
  EXPECT_THAT(refusal_of([&] { (void)memory({"fsdp.strategy=replicate"}, 2); }),
              HasSubstr("the 80.0 GB of one a100 don't hold the 178 GB that it keeps of t5-11b by the strategy replicate (16 bytes a "
                        "parameter); by full it would be 696 MB"));
  EXPECT_THROW((void)memory({"fsdp.strategy=replicate"}, 2), OutOfBudget) << "so that it is a result of a sweep's point";
  EXPECT_THAT(refusal_of([&] { (void)emulated_memory(of({}), units, 2, 2); }), HasSubstr("Set emulate.accelerator and emulate.model"));
}

TEST(Profile, KeepsTheBytesPerFlopOfTheModelThatIsStoodFor) {
  // A run whose sequence costs a thousandth of a large model's node's, with a ten thousandth of its parameters.
  const Config config = of({"emulate.cluster=ibm-vela", "emulate.model=t5-11b", "emulate.sequences=1", "net.message_overhead=1ns"});
  const auto model = stood_for(config);
  const RunSize run{
      .parameters = static_cast<std::int64_t>(model->parameters / 10000), .sequence = model->sequence * (8.0 / 1000), .nodes = 2};
  const auto profile = make_profile(config, {.dilation = 1}, run);
  ASSERT_TRUE(profile.has_value());
  // 1000 / 10000 of the bytes a FLOP: a tenth of the rate; half of the model enters each of 2 nodes, 31/32 each of 32.
  EXPECT_NEAR(profile->usable_rate().value / (120e9 / 8 * 0.1 * 0.5 / (31.0 / 32)), 1, 0.001);
  EXPECT_NEAR(profile->stream_rate.value / (8 * 50e9 / 8 * 0.1 * 0.5 / (31.0 / 32)), 1, 0.001) << "eight accelerators' streams";
  // A gather of a ten thousandth of the bytes at a tenth of the rate takes a thousandth of the time, and so must its latency.
  EXPECT_NEAR(profile->latency.value / 25e-9, 1, 0.001);
}

TEST(Scale, IsOfTheFlopsOrOfTheParameters) {
  const double parameters = stood_for(of({"emulate.model=t5-11b"}))->parameters;
  const double sequence = stood_for(of({"emulate.model=t5-11b"}))->sequence.value;
  const RunSize run{.parameters = 1000000, .sequence = Flops{1e9}, .nodes = 2, .sequences_per_node = 50, .tokens_per_node = 600};
  const Scale by_flops = scale_of(of({"emulate.cluster=ibm-vela", "emulate.model=t5-11b", "emulate.sequences=2"}), run);
  EXPECT_NEAR(by_flops.time / (2 * 8 * sequence / 1e9), 1, 1e-9) << "two sequences on each of eight accelerators for one";
  EXPECT_DOUBLE_EQ(by_flops.tokens, 2 * 8 * 512 / 12.0);
  const Scale by_parameters = scale_of(of({"emulate.model=t5-11b"}), run);
  EXPECT_NEAR(by_parameters.time / (parameters / 1e6), 1, 1e-9);
  EXPECT_EQ(by_parameters.tokens, 1);
  EXPECT_EQ(scale_of(of({"emulate.parameters=5e6"}), run).time, 5);
  EXPECT_EQ(scale_of(of({}), run).time, 1);
}

TEST(Profile, HasTheFiguresThatTheConfigSets) {
  const auto rate_of = [](const std::vector<std::string>& assignments) {
    return make_profile(of(assignments), {}, {})->usable_rate().value;
  };
  EXPECT_DOUBLE_EQ(rate_of({"net.profile=ethernet-200g-vela"}), 120e9 / 8);
  EXPECT_DOUBLE_EQ(rate_of({"net.profile=ethernet-200g-vela", "net.usable_rate=15Gbit/s"}), 15e9 / 8);
  EXPECT_EQ(make_profile(of({"net.profile=ethernet-1g", "net.message_overhead=7us"}), {}, {})->message_overhead.value, 7e-6);
  EXPECT_THAT(refusal_of([&] {
                (void)rate_of({"net.profile=ethernet-1g", "net.usable_rate=2Gbit/s"});
              }),
              HasSubstr("net.usable_rate = 2.00 Gbit/s: more than the 1.00 Gbit/s of ethernet-1g"));
  EXPECT_THAT(refusal_of([&] {
                (void)rate_of({"net.profile=ethernet-1g", "emulate.sequences=1", "emulate.parameters=1e9"});
              }),
              HasSubstr("emulate.sequences is set: the FLOPs of which model?"));
}

}  // namespace
}  // namespace twinax::app
