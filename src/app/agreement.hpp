#pragma once

#include <functional>
#include <string>
#include <vector>

#include "twinax/base/error.hpp"
#include "twinax/collective/choice.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/tensor/matmul.hpp"

namespace twinax::app {

/// An error that all ranks have agreed on: each throws it, one prints it.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// The same where a memory budget was too small.
class AgreedOutOfBudget : public AgreedError {
 public:
  using AgreedError::AgreedError;
};

/// Does `work`, which talks to no other rank; if that fails on any rank, throws AgreedError on all, with the message of the lowest
/// (AgreedOutOfBudget if that is an OutOfBudget).
/// Collective on the world.
void agree(net::World& world, const std::function<void()>& work);

/// Every member's text, in group order. Collective.
[[nodiscard]] std::vector<std::string> gather_texts(collective::Collectives& control, const std::string& mine);

/// Makes all members compute each matrix product with the same backend: the choice of the lowest member that has made one. `given`, if not
/// empty, comes first (a record's choices). Returns what was agreed, as text. Collective.
std::string agree_choices(collective::Collectives& control, tensor::Matmul& matmul, const std::string& given);

/// A record's choices without those of collective algorithms.
[[nodiscard]] std::string product_choices(const std::string& choices);

/// The first member's choices of collective algorithms, on all members. Collective.
[[nodiscard]] std::vector<collective::Choice> agree_collectives(collective::Collectives& control,
                                                                const std::vector<collective::Choice>& mine);

}  // namespace twinax::app
