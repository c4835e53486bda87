#pragma once

#include "twinax/step/graph.hpp"

namespace twinax::step {

/// Checks a schedule before it is run, and throws InvalidArgument that names op, buffer or pool if:
/// a buffer is used or released without an earlier producer that is ordered before it (by `after` and lane order, transitively), is
/// produced twice, is not released exactly once, or is released before a use is known to be over; or if a pool's credits, taken in program
/// order by one issuing thread, can't be given back by ops already issued (the step would hang); or if an op takes more than its pool
/// holds; if credits
/// can be given before they were taken, or less than one at a time; or if takes and gives of a step differ.
/// Where lanes wait for credits, also if the order of ops doesn't keep a pool's bound, or may give credits before they are taken; and if
/// two buffers may be in one slot at once.
void verify(const StepGraph& graph);

}  // namespace twinax::step
