#include "record/environment_attributes.hpp"

#include <array>
#include <variant>

namespace twinax::record {
namespace {

struct NamedMember {
  const char* name;
  std::variant<std::string Environment::*, std::int64_t Environment::*, double Environment::*> member;
};

const std::array kMembers{
    NamedMember{"hosts", &Environment::hosts},
    NamedMember{"ranks", &Environment::ranks},
    NamedMember{"ranks_per_node", &Environment::ranks_per_node},
    NamedMember{"cpu", &Environment::cpu},
    NamedMember{"cores", &Environment::cores},
    NamedMember{"mpi", &Environment::mpi},
    NamedMember{"ucx", &Environment::ucx},
    NamedMember{"hdf5", &Environment::hdf5},
    NamedMember{"compiler", &Environment::compiler},
    NamedMember{"git_revision", &Environment::git_revision},
    NamedMember{"transport", &Environment::transport},
    NamedMember{"network", &Environment::network},
    NamedMember{"accelerator", &Environment::accelerator},
    NamedMember{"dilation", &Environment::dilation},
    NamedMember{"model_factor", &Environment::model_factor},
    NamedMember{"token_factor", &Environment::token_factor},
};

void read(hid_t group, const char* name, std::string& value, const std::string& path) {
  value = read_text_attribute(group, name, path);
}
void read(hid_t group, const char* name, std::int64_t& value, const std::string& path) {
  value = read_int_attribute(group, name, path);
}
void read(hid_t group, const char* name, double& value, const std::string& path) {
  value = read_double_attribute(group, name, path);
}

}  // namespace

void write_environment(hid_t group, const Environment& environment, const std::string& path) {
  for (const NamedMember& row : kMembers) {
    std::visit([&](auto member) { write_attribute(group, row.name, environment.*member, path); }, row.member);
  }
}

Environment read_environment(hid_t group, const std::string& path) {
  Environment environment;
  for (const NamedMember& row : kMembers) {
    if (!has_attribute(group, row.name)) continue;
    std::visit([&](auto member) { read(group, row.name, environment.*member, path); }, row.member);
  }
  return environment;
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kMembers));
  for (const NamedMember& row : kMembers) names.emplace_back(row.name);
  return names;
}

}  // namespace twinax::record
