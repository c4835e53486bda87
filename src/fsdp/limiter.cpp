#include "twinax/fsdp/limiter.hpp"

#include <algorithm>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/fsdp/build_step.hpp"
#include "twinax/fsdp/prefetch.hpp"

namespace twinax::fsdp {
namespace {

/// A unit's whole run in memory.
Bytes whole_size(const StepPlan& plan, int unit) {
  return size_of(Dtype::Fp32) * plan.layouts[static_cast<std::size_t>(unit)].padded;
}

Bytes largest_block(const StepPlan& plan) {
  Bytes most{0};
  for (std::size_t u = 1; u < plan.layouts.size(); ++u) most = std::max(most, whole_size(plan, static_cast<int>(u)));
  return most;
}

}  // namespace

Limiter parse_limiter(std::string_view text) {
  if (text == "none") return Limiter::None;
  if (text == "window") return Limiter::Window;
  if (text == "block") return Limiter::Block;
  if (text == "bytes") return Limiter::Bytes;
  if (text == "pingpong") return Limiter::PingPong;
  throw InvalidArgument("the limiter \"" + std::string(text) + "\" is not known: none, window, block, bytes or pingpong");
}

step::WaitSide parse_limiter_side(std::string_view text) {
  if (text == "host") return step::WaitSide::Host;
  if (text == "lane") return step::WaitSide::Lane;
  throw InvalidArgument("the limiter's side \"" + std::string(text) + "\" is not known: host or lane");
}

void check_limiter(const StepPlan& plan) {
  if (plan.limiter == Limiter::PingPong && plan.limit < 1) {
    throw InvalidArgument("a limiter of " + std::to_string(plan.limit) + " buffers can hold nothing: fsdp.limit must be 1 at least");
  }
  if (plan.limiter != Limiter::Bytes || plan.is_resident()) return;
  for (std::size_t u = 1; u < plan.layouts.size(); ++u) {
    const Bytes size = whole_size(plan, static_cast<int>(u));
    if (size <= plan.limit_bytes) continue;
    throw InvalidArgument("fsdp.limit_bytes = " + to_text(plan.limit_bytes) + ": the unit \"" + plan.unit_names[u] + "\" takes " +
                          for_people(size) + " when it is gathered, and could never be; the largest unit takes " +
                          for_people(largest_block(plan)) + " (" + std::to_string(largest_block(plan).value) + " bytes)");
  }
}

bool is_gathered_ahead(const StepPlan& plan, std::span<const int> units, int now, int next) {
  if (next <= now) return true;
  if (next > now + plan.prefetch) return false;
  const int first = std::max(now, 0);
  switch (plan.limiter) {
    case Limiter::None:
      return true;
    case Limiter::Window:
    case Limiter::PingPong:
      return next <= now + effective_prefetch(plan.prefetch, plan.limit);
    case Limiter::Block:
      return plan.limit == 0 || next / plan.limit == first / plan.limit;
    case Limiter::Bytes: {
      Bytes sum{0};
      for (int group = first; group <= next; ++group) sum += whole_size(plan, units[static_cast<std::size_t>(group)]);
      return sum <= plan.limit_bytes;
    }
  }
  return false;
}

LimitedBuffers::LimitedBuffers(const StepPlan& plan, step::StepGraph& graph, const LimitedSide& side, bool is_limited) : plan_(plan) {
  const Limiter limiter = is_limited ? plan.limiter : Limiter::None;
  const bool counts_units = limiter != Limiter::None && limiter != Limiter::Bytes;
  const step::Refill refill = limiter == Limiter::Block ? step::Refill::All : step::Refill::Each;
  units_ = graph.add_pool({.name = side.pool, .capacity = counts_units ? plan.limit : 0, .refill = refill, .side = plan.limiter_side});
  if (limiter == Limiter::Bytes) {
    bytes_ =
        graph.add_pool({.name = "bytes of " + side.pool, .capacity = plan.limit_bytes.value, .refill = refill, .side = plan.limiter_side});
  }
  if (limiter != Limiter::PingPong || side.slot.empty()) return;
  root_ = graph.add_slot({.name = side.slot + " " + plan.unit_names[0], .size = whole_size(plan, 0)});
  for (std::int64_t i = 0; i < std::min(plan.limit, side.buffers); ++i)
    slots_.push_back(graph.add_slot({.name = side.slot + " #" + std::to_string(i), .size = largest_block(plan)}));
}

std::vector<step::CreditUse> LimitedBuffers::credits(int unit) const {
  if (unit == 0) return {};
  // Bytes first: who waits for them has no unit yet.
  std::vector<step::CreditUse> uses;
  if (bytes_) uses.push_back({.pool = *bytes_, .amount = std::max<std::int64_t>(whole_size(plan_, unit).value, 1)});
  uses.push_back({.pool = units_});
  return uses;
}

std::optional<step::SlotId> LimitedBuffers::next_slot(int unit) {
  if (slots_.empty()) return std::nullopt;
  return unit == 0 ? *root_ : slots_[next_++ % slots_.size()];
}

}  // namespace twinax::fsdp
