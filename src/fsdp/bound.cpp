#include "twinax/fsdp/bound.hpp"

#include <algorithm>

#include "twinax/collective/traffic.hpp"

namespace twinax::fsdp {
