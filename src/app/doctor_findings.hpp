#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/doctor_facts.hpp"

namespace twinax::app {

/// How something stands. Values travel between ranks as letters.
enum class Standing { Ok, Missing, Warning, Broken };

/// One line of the doctor's.
struct Finding {
  Standing standing = Standing::Ok;
  std::string subject;
  std::string text;    ///< what was found
  std::string advice;  ///< what to do; empty if nothing is to be done
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// What one host's facts mean.
[[nodiscard]] std::vector<Finding> judge_host(const HostFacts& facts);

/// What only shows in the facts of several hosts together: an address that several have.
[[nodiscard]] std::vector<Finding> judge_hosts(std::span<const HostFacts> hosts);

/// Findings of all hosts: one that hosts share word by word stands once; one that not all share names its hosts.
[[nodiscard]] std::vector<Finding> merge_findings(std::span<const std::string> hosts, const std::vector<std::vector<Finding>>& of_host);

/// "OK       clock      tsc, 1 ns" and, below it, "-> " with what to do.
[[nodiscard]] std::string to_text(const Finding& finding);

/// Whether something is broken without which nothing runs.
[[nodiscard]] bool is_broken(std::span<const Finding> findings);

}  // namespace twinax::app
