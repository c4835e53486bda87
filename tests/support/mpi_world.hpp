#pragma once

#include "twinax/net/bootstrap.hpp"

namespace twinax::test {

/// The job of an executable whose tests run under mpiexec: every rank runs every test.
net::World& world();

}  // namespace twinax::test
