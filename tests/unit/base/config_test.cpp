#include "twinax/base/config.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <set>
#include <string>
#include <string_view>

#include "twinax/base/error.hpp"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinax {
namespace {

using ::testing::HasSubstr;

Config config_of(const std::string& text) {
  Config config;
  config.apply(parse_toml(text, "x.toml"));
  return config;
}

TEST(ConfigKeys, AreDeclaredOnceAndTableByTable) {
  std::set<std::string_view> names;
  std::set<std::string_view> tables;
  std::string_view table;
  for (const KeyDeclaration& key : config_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_EQ(std::count(key.name.begin(), key.name.end(), '.'), 1) << key.name;
    const std::string_view its_table = key.name.substr(0, key.name.find('.'));
    if (its_table != table) {
      EXPECT_TRUE(tables.insert(its_table).second) << its_table << " is opened twice";
    }
    table = its_table;
  }
}

TEST(ConfigKeys, HoldWhatScriptsRelyOn) {
  const Config config;
  for (const std::string_view key : {"train.steps",
                                     "train.seed",
                                     "train.global_batch",
                                     "train.batch",
                                     "train.evaluate_every",
                                     "model.kind",
                                     "model.layers",
                                     "model.width",
                                     "model.heads",
                                     "model.context",
                                     "model.vocabulary",
                                     "data.path",
                                     "data.tokenizer",
                                     "fsdp.strategy",
                                     "fsdp.limiter",
                                     "fsdp.limit",
                                     "fsdp.prefetch",
                                     "fsdp.wire",
                                     "optimizer.learning_rate",
                                     "optimizer.warmup_steps",
                                     "optimizer.clip_norm",
                                     "net.transport",
                                     "net.profile",
                                     "net.ranks_per_node",
                                     "emulate.accelerator",
                                     "record.path",
                                     "watchdog.seconds"}) {
    EXPECT_NO_THROW(EXPECT_FALSE(config.is_set(key))) << key;
  }
  EXPECT_EQ(config.real("watchdog.seconds"), 60);
  EXPECT_EQ(config.text("fsdp.wire"), "fp32");
  EXPECT_EQ(config.integer("train.evaluate_every"), 0);
  EXPECT_EQ(config.bytes("net.chunk"), Bytes{256 * 1024});
  EXPECT_EQ(config.seconds("record.flush_seconds"), Seconds{1});
  EXPECT_TRUE(config.flag("model.tied"));
}

TEST(ConfigApply, SetsWhatTheFileSays) {
  const Config config = config_of(
      "[train]\nsteps = 7\n[data]\npath = \"a/b.txt\"\n[model]\ntied = false\n[net]\nchunk = \"1MiB\"\n[optimizer]\nlearning_rate = "
      "3e-4\n");
  EXPECT_EQ(config.integer("train.steps"), 7);
  EXPECT_EQ(config.text("data.path"), "a/b.txt");
  EXPECT_FALSE(config.flag("model.tied"));
  EXPECT_EQ(config.bytes("net.chunk"), mib(1));
  EXPECT_EQ(config.real("optimizer.learning_rate"), 3e-4);
  EXPECT_TRUE(config.is_set("train.steps"));
  EXPECT_FALSE(config.is_set("train.seed"));
}

TEST(ConfigApply, TakesWholeNumbersForRealsAndWholeRealsForIntegers) {
  const Config config = config_of("[optimizer]\nlearning_rate = 1\nclip_norm = 0\n[train]\nsteps = 1e3\nseed = 1_000\n");
  EXPECT_EQ(config.real("optimizer.learning_rate"), 1.0);
  EXPECT_EQ(config.real("optimizer.clip_norm"), 0.0);
  EXPECT_EQ(config.integer("train.steps"), 1000);
  EXPECT_EQ(config.integer("train.seed"), 1000);
}

TEST(ConfigApply, TakesSecondsPlainOrWithTheirUnitWhereTheNameSaysSeconds) {
  const Config plain = config_of("[watchdog]\nseconds = 10\n[record]\nflush_seconds = 0.5\n");
  EXPECT_EQ(plain.real("watchdog.seconds"), 10);
  EXPECT_EQ(plain.seconds("record.flush_seconds"), Seconds{0.5});
  const Config units = config_of("[watchdog]\nseconds = \"2min\"\n[record]\nflush_seconds = \"500ms\"\n");
  EXPECT_EQ(units.real("watchdog.seconds"), 120);
  EXPECT_EQ(units.seconds("record.flush_seconds"), Seconds{0.5});
}

TEST(ConfigApply, LeavesIgnoredTablesToOthers) {
  Config config;
  constexpr std::array<std::string_view, 3> kIgnored{"sweep", "axes", "base"};
  config.apply(
      parse_toml("base = \"small.toml\"\n[sweep]\nrepeats = 3\n[axes]\n\"net.profile\" = [\"a\", \"b\"]\n[train]\nsteps = 5\n", "x.toml"),
      kIgnored);
  EXPECT_EQ(config.integer("train.steps"), 5);
  EXPECT_THROW(config.apply(parse_toml("[sweeps]\nrepeats = 3\n", "x.toml"), kIgnored), ConfigError);
}

TEST(ConfigSet, ReadsByTheDeclaredType) {
  Config config;
  config.set("data.path=007");
  EXPECT_EQ(config.text("data.path"), "007");
  config.set("record.path=1.0");
  EXPECT_EQ(config.text("record.path"), "1.0");
  config.set("data.path=a=b.txt");
  EXPECT_EQ(config.text("data.path"), "a=b.txt");
  config.set("data.path=");
  EXPECT_EQ(config.text("data.path"), "");
  EXPECT_TRUE(config.is_set("data.path"));
  config.set("data.path= a b ");
  EXPECT_EQ(config.text("data.path"), " a b ");
  config.set("train.steps=5");
  EXPECT_EQ(config.integer("train.steps"), 5);
  config.set("train.steps = 1_000");
  EXPECT_EQ(config.integer("train.steps"), 1000);
  config.set("train.steps=1e3");
  EXPECT_EQ(config.integer("train.steps"), 1000);
  config.set("optimizer.learning_rate=3e-4");
  EXPECT_EQ(config.real("optimizer.learning_rate"), 3e-4);
  config.set("net.chunk=64KiB");
  EXPECT_EQ(config.bytes("net.chunk"), Bytes{65536});
  config.set("model.tied=false");
  EXPECT_FALSE(config.flag("model.tied"));
  config.set("record.flush_seconds=2");
  EXPECT_EQ(config.seconds("record.flush_seconds"), Seconds{2});
  config.set("watchdog.seconds=250ms");
  EXPECT_EQ(config.real("watchdog.seconds"), 0.25);
}

TEST(ConfigSet, LaterWins) {
  Config config;
  config.apply(parse_toml("[train]\nsteps = 1\n", "x.toml"));
  config.set("train.steps=2");
  config.set("train.steps=3");
  EXPECT_EQ(config.integer("train.steps"), 3);
}

TEST(ConfigSet, KeepsSeedsThatADoubleCannotHold) {
  Config config;
  config.set("train.seed=9223372036854775807");
  EXPECT_EQ(config.integer("train.seed"), 9223372036854775807);
}

TEST(ConfigRead, RefusesAnotherTypeThanDeclared) {
  const Config config;
  EXPECT_THROW((void)config.real("train.steps"), InvalidArgument);
  EXPECT_THROW((void)config.text("train.steps"), InvalidArgument);
  EXPECT_THROW((void)config.integer("train.stepz"), InvalidArgument);
  EXPECT_THROW((void)config.is_set("train.stepz"), InvalidArgument);
}

TEST(ConfigToToml, ReadsBackToTheSame) {
  Config config;
  config.set("data.path=tab\there \"quoted\" back\\slash \xc3\xa9\nline");
  config.set("train.seed=9223372036854775807");
  config.set("optimizer.learning_rate=0.1234567890123456789");
  config.set("optimizer.clip_norm=1e20");
  config.set("net.chunk=1025B");
  config.set("record.flush_seconds=0.3");
  config.set("model.tied=false");
  const Config again = config_of(config.to_toml());
  EXPECT_EQ(again.to_toml(), config.to_toml());
  EXPECT_EQ(again.text("data.path"), config.text("data.path"));
  EXPECT_EQ(again.integer("train.seed"), config.integer("train.seed"));
  EXPECT_EQ(again.real("optimizer.learning_rate"), config.real("optimizer.learning_rate"));
  EXPECT_EQ(again.real("optimizer.clip_norm"), 1e20);
  EXPECT_EQ(again.bytes("net.chunk"), Bytes{1025});
  EXPECT_EQ(again.seconds("record.flush_seconds"), Seconds{0.3});
  EXPECT_FALSE(again.flag("model.tied"));
}

TEST(ConfigToToml, HoldsEveryKey) {
  const std::string text = Config().to_toml();
  EXPECT_EQ(parse_toml(text, "x.toml").entries.size(), config_keys().size());
  EXPECT_THAT(text, HasSubstr("[train]\nsteps = 200\n"));
  EXPECT_THAT(text, HasSubstr("\nchunk = \"256KiB\"\n"));
  EXPECT_THAT(text, HasSubstr("\nclip_norm = 1.0\n"));
}

TEST(ConfigReference, ShowsEveryKeyWithDefaultLimitsAndHelp) {
  const std::string text = config_reference();
  for (const KeyDeclaration& key : config_keys()) {
    EXPECT_THAT(text, HasSubstr(std::string("\n").append(key.name).append(" ")));
    EXPECT_THAT(text, HasSubstr(std::string("  ").append(key.help).append("\n")));
  }
  EXPECT_THAT(text, HasSubstr("full, keep, hybrid, replicate"));
  EXPECT_THAT(text, HasSubstr("1KiB to 1GiB"));
  EXPECT_THAT(text, HasSubstr("\n[fsdp]\n"));
}

TEST(Config, IsTheSameInACommaLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  Config plain;
  plain.set("optimizer.learning_rate=3.5e-4");
  for (const char* const name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  Config comma;
  comma.set("optimizer.learning_rate=3.5e-4");
  comma.apply(parse_toml("[optimizer]\nbeta1 = 0.9\n", "x.toml"));
  EXPECT_EQ(comma.to_toml(), plain.to_toml());
  std::setlocale(LC_ALL, before.c_str());
}

}  // namespace
}  // namespace twinax
