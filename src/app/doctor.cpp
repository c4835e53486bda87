#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "twinax/base/log.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/net/lanes.hpp"

#include "app/agreement.hpp"
#include "app/commands.hpp"
#include "app/doctor_facts.hpp"
#include "app/doctor_findings.hpp"
#include "app/launch.hpp"

namespace twinax::app {
namespace {

constexpr Seconds kLongestWait{20};
constexpr char kField = '\x1f';  // between fields: no fact has it

void print(std::span<const Finding> findings) {
  for (const Finding& finding : findings) fmt::print("{}", to_text(finding));
  std::fflush(stdout);
}

/// What other hosts need to know of this one: findings as four fields each, then addresses as three.
std::string pack(const HostFacts& facts) {
  std::string text;
  for (const Finding& finding : judge_host(facts)) {
    text += fmt::format("finding{0}{1}{0}{2}{0}{3}{0}{4}\n", kField, static_cast<int>(finding.standing), finding.subject, finding.text,
                        finding.advice);
  }
  for (const NetworkDevice& device : facts.network) {
    for (const std::string& address : device.addresses) {
      text += fmt::format("address{0}{1}{0}{2}{0}{3}\n", kField, device.name, address, device.is_up && device.has_carrier ? 1 : 0);
    }
  }
  return text;
}

struct HostReport {
  HostFacts facts;  ///< name and addresses alone
  std::vector<Finding> findings;
};

HostReport unpack(const std::string& host, const std::string& text) {
  HostReport report;
  report.facts.host = host;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream stream(line + kField);
    for (std::string field; std::getline(stream, field, kField);) fields.push_back(field);
    if (fields.size() == 5 && fields[0] == "finding") {
      report.findings.push_back({static_cast<Standing>(std::atoi(fields[1].c_str())), fields[2], fields[3], fields[4]});
    } else if (fields.size() == 4 && fields[0] == "address") {
      const bool works = fields[3] == "1";
      report.facts.network.push_back({.name = fields[1], .is_up = works, .has_carrier = works, .addresses = {fields[2]}});
    }
  }
  return report;
}

Finding describe_job(const net::World& world) {
  std::vector<std::string> nodes = world.hosts();
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return {Standing::Ok, "ranks", fmt::format("{} on {} node(s), by the memory that they share", world.size(), nodes.size()), ""};
}

/// On every rank, once MPI has started: the first rank of each host reports for it.
int examine(net::World& world, HostFacts facts) {
  facts.ranks = static_cast<int>(world.ranks_on_host().size());
  facts.usable_cores = world.usable_cores();
  const bool speaks = world.ranks_on_host().front() == world.rank();
  const auto control =
      collective::make_own(world.transport(), collective::Group::first(world.size(), world.rank()), {.lane = net::lanes::kControl});
  const std::vector<std::string> texts = gather_texts(*control, speaks ? pack(facts) : "");
  std::vector<std::string> hosts;
  std::vector<HostFacts> all_facts;
  std::vector<std::vector<Finding>> of_host;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    if (texts[r].empty()) continue;
    HostReport report = unpack(world.hosts()[r], texts[r]);
    hosts.push_back(world.hosts()[r]);
    all_facts.push_back(std::move(report.facts));
    of_host.push_back(std::move(report.findings));
  }
  const std::vector<Finding> merged = merge_findings(hosts, of_host);
  const std::vector<Finding> common = judge_hosts(all_facts);
  if (world.rank() == 0) {
    print(std::vector<Finding>{{Standing::Ok, "MPI", world.mpi_version() + ", several threads may call it", ""}, describe_job(world)});
    print(merged);
    print(common);
  }
  return is_broken(merged) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/// Keeps Open MPI's messages off devices that lead nowhere, unless the user has chosen: what is to be found out must not stop the doctor.
void avoid_bridges(const HostFacts& facts) {
  if (std::getenv("OMPI_MCA_btl_tcp_if_include") != nullptr || std::getenv("OMPI_MCA_btl_tcp_if_exclude") != nullptr) return;
  std::string excluded = "127.0.0.0/8";
  for (const NetworkDevice& device : facts.network) {
    if (device.is_bridge || !device.is_up || !device.has_carrier) excluded += "," + device.name;
  }
  setenv("OMPI_MCA_btl_tcp_if_exclude", excluded.c_str(), 0);
}

}  // namespace

int doctor_command(const Invocation& invocation) {
  const HostFacts facts = read_host_facts();
  const bool launched = is_launched();  // asked now: MPI makes a lone process look like one of several
  if (!launched) {
    // Before MPI starts, which may itself fail.
    const std::vector<Finding> findings = judge_host(facts);
    print(findings);
    if (is_broken(findings)) return EXIT_FAILURE;
  }
  avoid_bridges(facts);
  int argc = invocation.argc;
  char** argv = invocation.argv;
  const net::WorldOptions options{.transport = "mpi", .ranks = 1, .longest_wait = kLongestWait, .argc = &argc, .argv = &argv};
  return net::run_world(options, [&](net::World& world) {
    if (launched) return examine(world, facts);
    print(std::vector<Finding>{{Standing::Ok, "MPI", world.mpi_version() + ", several threads may call it", ""}});
    return EXIT_SUCCESS;
  });
}

}  // namespace twinax::app
