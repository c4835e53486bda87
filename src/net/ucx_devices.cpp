#include "twinax/net/ucx_devices.hpp"

#include <memory>
#include <string_view>

#include <uct/api/uct.h>

#include "net/ucx_handles.hpp"

namespace twinax::net {
namespace {

struct MdTraits {
  using Native = uct_md_h;
  static Native null() noexcept { return nullptr; }
  static void close(Native md) noexcept { uct_md_close(md); }
};

struct MdConfigTraits {
  using Native = uct_md_config_t*;
  static Native null() noexcept { return nullptr; }
  static void close(Native config) noexcept { uct_config_release(config); }
};

/// A domain that can't be opened (a driver without hardware) has no devices.
void add_devices(std::vector<UcxDevice>& devices, uct_component_h component, const char* domain) {
  uct_md_config_t* read = nullptr;
  check_ucx(uct_md_config_read(component, nullptr, nullptr, &read), "reading the configuration of a memory domain");
  const Handle<MdConfigTraits> config(read);
  uct_md_h opened = nullptr;
  if (uct_md_open(component, domain, config.get(), &opened) != UCS_OK) return;
  const Handle<MdTraits> md(opened);
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(md.get(), &resources, &count) != UCS_OK) return;
  const std::unique_ptr<uct_tl_resource_desc_t, void (*)(uct_tl_resource_desc_t*)> owner(resources, &uct_release_tl_resource_list);
  for (unsigned r = 0; r < count; ++r) devices.push_back({.transport = resources[r].tl_name, .device = resources[r].dev_name});
}

}  // namespace

std::vector<UcxDevice> ucx_devices() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  check_ucx(uct_query_components(&components, &count), "asking for UCX's components");
  const std::unique_ptr<uct_component_h, void (*)(uct_component_h*)> owner(components, &uct_release_component_list);
  std::vector<UcxDevice> devices;
  for (unsigned c = 0; c < count; ++c) {
    uct_component_attr_t attributes{};
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
    check_ucx(uct_component_query(components[c], &attributes), "asking a component of UCX for its domains");
    std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attributes.md_resources = domains.data();
    check_ucx(uct_component_query(components[c], &attributes), "asking a component of UCX for its domains");
    for (const uct_md_resource_desc_t& domain : domains) add_devices(devices, components[c], domain.md_name);
  }
  return devices;
}

}  // namespace twinax::net
