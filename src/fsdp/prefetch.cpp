#include "twinax/fsdp/prefetch.hpp"

#include <algorithm>
#include <map>

namespace twinax::fsdp {
namespace {

/// Decides who gathers and who releases. Uses of non-root units that follow each other with only root uses between share a gather.
void place_gathers(std::vector<Use>& uses) {
  Use* last_root = nullptr;
  Use* last_block = nullptr;
  int group = -1;
  for (Use& use : uses) {
    if (use.unit == 0) {
      use.group = group;
      use.gathers = last_root == nullptr;
      last_root = &use;
      continue;
    }
    use.gathers = last_block == nullptr || last_block->unit != use.unit;
    if (use.gathers) {
      ++group;
      if (last_block != nullptr) last_block->releases = true;
    }
    use.group = group;
    last_block = &use;
  }
  if (last_root != nullptr) last_root->releases = true;
  if (last_block != nullptr) last_block->releases = true;
}

/// The same where every unit is gathered before its first use and released after its last.
void place_kept_gathers(std::vector<Use>& uses) {
  struct Kept {
    int group = -1;
    Use* last = nullptr;
  };
  std::map<int, Kept> units;
  int group = -1;
  for (Use& use : uses) {
    Kept& kept = units[use.unit];
    use.gathers = kept.last == nullptr;
    kept.last = &use;
    if (use.unit != 0) {
      if (use.gathers) kept.group = static_cast<int>(units.size() - units.count(0)) - 1;
      group = kept.group;
    }
    use.group = group;
  }
  for (auto& [unit, kept] : units) kept.last->releases = true;
}

}  // namespace

std::vector<Use> training_uses(const std::vector<nn::Stage>& stages, std::int64_t micro_batches, bool keeps) {
  std::vector<Use> uses;
  for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
      uses.push_back({.stage = s, .unit = stages[s].unit, .backward = false, .micro_batch = micro_batch});
    }
    for (std::size_t s = stages.size(); s-- > 0;) {
      uses.push_back({.stage = s, .unit = stages[s].unit, .backward = true, .micro_batch = micro_batch});
    }
  }
  if (keeps) {
    place_kept_gathers(uses);
  } else {
    place_gathers(uses);
  }
  return uses;
}

std::vector<Use> evaluation_uses(const std::vector<nn::Stage>& stages) {
  std::vector<Use> uses;
  for (std::size_t s = 0; s < stages.size(); ++s) uses.push_back({.stage = s, .unit = stages[s].unit});
  place_gathers(uses);
  return uses;
}

std::int64_t effective_prefetch(std::int64_t prefetch, std::int64_t limit) {
  return limit == 0 ? prefetch : std::min(prefetch, limit - 1);
}

}  // namespace twinax::fsdp
