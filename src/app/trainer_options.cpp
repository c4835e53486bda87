#include "app/trainer_options.hpp"

#include <cstdint>
#include <string>

namespace twinax::app {
namespace {

Dtype wire_of(const std::string& text) {
  return text == "bf16" ? Dtype::Bf16 : text == "int8" ? Dtype::Int8 : Dtype::Fp32;
}

}  // namespace

fsdp::TrainerOptions trainer_options(const Config& config, const Workload& workload) {
  fsdp::TrainerOptions options;
  options.strategy = fsdp::parse_strategy(config.text("fsdp.strategy"));
  options.limiter = fsdp::parse_limiter(config.text("fsdp.limiter"));
  options.limit = config.integer("fsdp.limit");
  options.limit_bytes = config.bytes("fsdp.limit_bytes");
  options.limiter_side = fsdp::parse_limiter_side(config.text("fsdp.limiter_side"));
  options.prefetch = config.integer("fsdp.prefetch");
  options.backward_prefetch = fsdp::parse_backward_prefetch(config.text("fsdp.backward_prefetch"));
  options.accumulate = fsdp::parse_accumulate(config.text("fsdp.accumulate"));
  options.checkpoint = config.flag("fsdp.checkpoint");
  options.wire = wire_of(config.text("fsdp.wire"));
  if (const std::string& wire = config.text("fsdp.reduce_wire"); wire != "same") options.reduce_wire = wire_of(wire);
  options.seed = static_cast<std::uint64_t>(config.integer("train.seed"));
  options.micro_batch = workload.micro_batch();
  options.micro_batches = workload.micro_batches();
  options.optimizer = {.learning_rate = config.real("optimizer.learning_rate"),
                       .final_learning_rate_share = config.real("optimizer.final_learning_rate_share"),
                       .warmup_steps = config.integer("optimizer.warmup_steps"),
                       .steps = config.integer("train.steps"),
                       .beta1 = config.real("optimizer.beta1"),
                       .beta2 = config.real("optimizer.beta2"),
                       .epsilon = config.real("optimizer.epsilon"),
                       .weight_decay = config.real("optimizer.weight_decay"),
                       .clip_norm = config.real("optimizer.clip_norm")};
  return options;
}

}  // namespace twinax::app
