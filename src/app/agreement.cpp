#include "app/agreement.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>

namespace twinax::app {

void agree(net::World& world, const std::function<void()>& work) {
  constexpr char kBudget = '\1';  // before the message of a budget that was too small
  std::optional<std::string> mine;
  try {
    work();
  } catch (const OutOfBudget& error) {
    mine = kBudget + std::string(error.what());
  } catch (const Error& error) {
    mine = error.what();
  }
  const std::optional<std::string> first = world.first_error(mine);
  if (first && first->starts_with(kBudget)) throw AgreedOutOfBudget(first->substr(1));
  if (first) throw AgreedError(*first);
}

std::vector<std::string> gather_texts(collective::Collectives& control, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(control.group().size());
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(ranks);
  control.all_gather_bytes(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)), net::Purpose::Control);
  const std::size_t longest = *std::ranges::max_element(lengths);
  std::string padded = mine;
  padded.resize(longest, ' ');
  std::string all(longest * ranks, ' ');
  control.all_gather_bytes(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks; ++r) texts.push_back(all.substr(r * longest, lengths[r]));
  return texts;
}

std::string agree_choices(collective::Collectives& control, tensor::Matmul& matmul, const std::string& given) {
  std::map<tensor::Product, tensor::Choice> agreed;
  for (const tensor::Choice& choice : tensor::parse_choices(given)) agreed.try_emplace(choice.product, choice);
  for (const std::string& text : gather_texts(control, tensor::to_text(matmul.choices()))) {
    for (const tensor::Choice& choice : tensor::parse_choices(text)) agreed.try_emplace(choice.product, choice);
  }
  std::vector<tensor::Choice> choices;
  for (const auto& [product, choice] : agreed) choices.push_back(choice);
  matmul.set_choices(choices);
  return tensor::to_text(choices);
}

std::string product_choices(const std::string& choices) {
  std::istringstream in(choices);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("collective ")) kept += line + "\n";
  }
  return kept;
}

std::vector<collective::Choice> agree_collectives(collective::Collectives& control, const std::vector<collective::Choice>& mine) {
  return collective::parse_choices(gather_texts(control, collective::to_text(mine)).front());
}

}  // namespace twinax::app
