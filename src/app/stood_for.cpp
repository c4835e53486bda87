#include "app/stood_for.hpp"

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/fsdp/flat_parameter.hpp"
#include "twinax/fsdp/strategy.hpp"
#include "twinax/nn/gpt.hpp"
#include "twinax/nn/t5.hpp"

#include "app/model_catalog.hpp"

namespace twinax::app {
namespace {

constexpr double kStateBytes = 16;  // a parameter's: fp32 master and gradient, two moments
constexpr double kGatheredThere = 2;
constexpr double kGatheredHere = 4;

double elements(std::span<const nn::UnitSpec> units) {
  double sum = 0;
  for (const nn::UnitSpec& unit : units) sum += static_cast<double>(unit.elements);
  return sum;
}

StoodFor catalog_model(const Config& config, const std::string& name) {
  Config model;
  model.set("model.name", name, "emulate.model");
  model.set("model.catalog", config.text("model.catalog"), "emulate.model");
  take_catalog_model(model);
  if (model.text("model.kind") == "gpt") {
    const nn::GptShape shape{.layers = model.integer("model.layers"),
                             .width = model.integer("model.width"),
                             .heads = model.integer("model.heads"),
                             .context = model.integer("model.context"),
                             .vocabulary = model.integer("model.vocabulary"),
                             .tied = model.flag("model.tied")};
    return {.name = name,
            .parameters = elements(nn::gpt_units(shape)),
            .sequence = nn::gpt_step_flops(shape),
            .tokens = static_cast<double>(shape.context)};
  }
  const nn::T5Shape shape{.layers = model.integer("model.layers"),
                          .decoder_layers = model.integer("model.decoder_layers"),
                          .width = model.integer("model.width"),
                          .heads = model.integer("model.heads"),
                          .head_width = model.integer("model.d_kv"),
                          .feed_forward = model.integer("model.d_ff"),
                          .context = model.integer("model.context"),
                          .targets = model.integer("model.context"),
                          .vocabulary = model.integer("model.vocabulary")};
  return {.name = name,
          .parameters = elements(nn::t5_units(shape)),
          .sequence = nn::t5_step_flops(shape),
          .tokens = static_cast<double>(shape.targets)};
}

/// Accelerators of the cluster that share one copy of the state.
double sharers(const Config& config, fsdp::Strategy strategy, int nodes) {
  if (strategy == fsdp::Strategy::Replicate) return 1;
  const auto in_node = static_cast<double>(config.integer("emulate.accelerators"));
  if (strategy == fsdp::Strategy::Hybrid || nodes == 1) return in_node;
  const std::int64_t asked = config.integer("emulate.nodes");
  return in_node * static_cast<double>(asked > 0 ? asked : nodes);
}

}  // namespace

std::optional<StoodFor> stood_for(const Config& config) {
  const std::string& name = config.text("emulate.model");
  const double parameters = config.real("emulate.parameters");
  if (!name.empty() && parameters > 0) {
    throw ConfigError(fmt::format("emulate.model = {} and emulate.parameters = {} are both set: one of them says which model is stood for",
                                  name, parameters));
  }
  if (!name.empty()) return catalog_model(config, name);
  if (parameters > 0) return StoodFor{.name = "", .parameters = parameters};
  return std::nullopt;
}

Bytes emulated_memory(const Config& config, std::span<const nn::UnitSpec> units, int shards, int nodes) {
  const std::optional<StoodFor> model = stood_for(config);
  const std::string& name = config.text("emulate.accelerator");
  if (!model || model->name.empty() || name == "none") {
    throw ConfigError("emulate.memory = true: whose memory, and beside which model's state? Set emulate.accelerator and emulate.model");
  }
  const Accelerator accelerator = find_accelerator(catalog_path(config, "emulate.catalog", "accelerators.toml"), name);
  const fsdp::Strategy strategy = fsdp::parse_strategy(config.text("fsdp.strategy"));
  const double state = kStateBytes * model->parameters / sharers(config, strategy, nodes);
  const double room = static_cast<double>(accelerator.memory.value) - state;
  if (room <= 0) {
    const double full = kStateBytes * model->parameters / sharers(config, fsdp::Strategy::Full, nodes);
    throw OutOfBudget(fmt::format(
        "the {} of one {} don't hold the {} that it keeps of {} by the strategy {} (16 bytes a parameter); by full it would be {}",
        for_people(accelerator.memory), name, for_people(Bytes{static_cast<std::int64_t>(state)}), model->name, to_text(strategy),
        for_people(Bytes{static_cast<std::int64_t>(full)})));
  }
  double mine = 0;
  for (const nn::UnitSpec& unit : units) mine += kStateBytes * static_cast<double>(fsdp::shard_layout(unit.elements, shards).shard);
  const double smaller = elements(units) * kGatheredHere / (model->parameters * kGatheredThere);
  return {static_cast<std::int64_t>(room * smaller + mine)};
}

}  // namespace twinax::app
