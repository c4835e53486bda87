#include "app/model_catalog.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/nn/t5.hpp"

#include "support/scratch_folder.hpp"

namespace twinax::app {
namespace {

using ::twinax::test::ScratchFolder;

constexpr const char* kCatalog = TWINAX_MODELS;  // experiments/catalog/models.toml

nn::T5Shape t5_of(const Config& config) {
  return {.layers = config.integer("model.layers"),
          .decoder_layers = config.integer("model.decoder_layers"),
          .width = config.integer("model.width"),
          .heads = config.integer("model.heads"),
          .head_width = config.integer("model.d_kv"),
          .feed_forward = config.integer("model.d_ff"),
          .vocabulary = config.integer("model.vocabulary")};
}

Config named(const std::string& name) {
  Config config;
  config.set("model.name=" + name);
  config.set(std::string("model.catalog=") + kCatalog);
  return config;
}

TEST(ModelCatalog, HasEveryT5WithThePublishedParameters) {
  std::vector<std::string> names;
  for (const CatalogModel& model : read_models(kCatalog)) {
    names.push_back(model.name);
    Config config = named(model.name);
    take_catalog_model(config);
    ASSERT_EQ(config.text("model.kind"), "t5") << model.name;
    std::int64_t parameters = 0;
    for (const nn::UnitSpec& unit : nn::t5_units(t5_of(config))) parameters += unit.elements;
    EXPECT_EQ(parameters, model.parameters) << model.name;
  }
  EXPECT_THAT(names, testing::ElementsAre("t5-small", "t5-base", "t5-large", "t5-3b", "t5-11b"));
}

TEST(ModelCatalog, LeavesWhatTheConfigSetsItself) {
  Config config = named("t5-small");
  config.set("model.layers=2");
  take_catalog_model(config);
  EXPECT_EQ(config.integer("model.layers"), 2);
  EXPECT_EQ(config.integer("model.decoder_layers"), 8);
  Config none;
  take_catalog_model(none);
  EXPECT_EQ(none.to_toml(), Config().to_toml()) << "no name, nothing is taken";
}

TEST(ModelCatalog, NamesThoseThereAreForAnUnknownOne) {
  Config config = named("t5-smal");
  try {
    take_catalog_model(config);
    FAIL() << "found one";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("did you mean t5-small? It has: t5-small, t5-base, t5-large, t5-3b, t5-11b"));
  }
}

TEST(ModelCatalog, RefusesModelsWithoutSourceAndKeysThatAreNone) {
  const ScratchFolder folder;
  EXPECT_THROW((void)read_models(folder.write("a.toml", "[small]\nlayers = 2\nparameters = 5\n")), ConfigError);
  EXPECT_THROW((void)read_models(folder.write("b.toml", "layers = 2\n")), ConfigError);
  EXPECT_THROW((void)read_models(folder.write("c.toml", "[small]\nlayers = [2]\nparameters = 5\nsource = \"x\"\n")), ConfigError);
  Config config;
  config.set("model.name=small");
  config.set("model.catalog=" + folder.write("d.toml", "[small]\nlayer = 2\nparameters = 5\nsource = \"x\"\n"));
  EXPECT_THROW(take_catalog_model(config), ConfigError);
}

}  // namespace
}  // namespace twinax::app
