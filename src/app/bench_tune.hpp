#pragma once

#include <span>
#include <string>
#include <vector>

#include "twinax/collective/choice.hpp"
#include "twinax/record/rows.hpp"

namespace twinax::app {

/// The choices that an operation's figures speak for: up to which size which algorithm. MPI's own don't count, since they can't be chosen
/// by size. From one size to the next the algorithm stays unless another takes 5% less time; it changes half way (geometrically) between
/// the two. Sizes are taken in fp32, whatever the wire. Empty if there are no figures.
[[nodiscard]] std::vector<collective::Choice> crossovers(collective::Operation operation, std::span<const record::BenchRow> figures);

/// Puts a table into those of a tune file: it replaces the one of its key, if there is one; operations that it lacks are kept.
void merge_into(std::vector<collective::TuneTable>& tables, const collective::TuneTable& measured);

}  // namespace twinax::app
