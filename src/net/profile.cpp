#include "twinax/net/profile.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "twinax/base/error.hpp"
#include "twinax/base/nearest.hpp"
#include "twinax/base/toml.hpp"
#include "twinax/base/units_text.hpp"

namespace twinax::net {
namespace {

/// One key's value, with its place for messages.
struct Reading {
  const TomlFile& file;
  const TomlEntry& entry;

  [[noreturn]] void refuse(std::string_view allowed) const {
    throw ConfigError(fmt::format("{}:{}: {}: {}", file.path, entry.line, entry.key, allowed));
  }
  [[nodiscard]] const std::string& text() const {
    const auto* text = entry.value.is_array ? nullptr : std::get_if<std::string>(&entry.value.items.front());
    if (text == nullptr) refuse("must be a text in quotes");
    return *text;
  }
  template <class Parse>
  [[nodiscard]] auto quantity(Parse parse) const {
    try {
      return parse(text());
    } catch (const InvalidArgument& error) {
      refuse(error.what());
    }
  }
  [[nodiscard]] BytesPerSecond rate() const {
    const BytesPerSecond rate = quantity(parse_rate);
    if (rate.value <= 0) refuse("must be above 0");
    return rate;
  }
  [[nodiscard]] Seconds time() const {
    const Seconds time = quantity(parse_seconds);
    if (time.value < 0) refuse("must not be negative");
    return time;
  }
  [[nodiscard]] double share() const {
    if (!entry.value.is_array) {
      if (const auto* real = std::get_if<double>(&entry.value.items.front()); real != nullptr && *real >= 0 && *real <= 1) return *real;
      if (const auto* whole = std::get_if<std::int64_t>(&entry.value.items.front()); whole != nullptr && (*whole == 0 || *whole == 1)) {
        return static_cast<double>(*whole);
      }
    }
    refuse("must be a share from 0 to 1, such as 0.95");
  }
};

using Setter = std::function<void(Profile&, const Reading&)>;

const std::map<std::string, Setter, std::less<>>& setters() {
  static const std::map<std::string, Setter, std::less<>> table{
      {"rate", [](Profile& p, const Reading& r) { p.rate = r.rate(); }},
      {"achievable",
       [](Profile& p, const Reading& r) {
         p.achievable = r.share();
         if (p.achievable == 0) r.refuse("must be above 0");
       }},
      {"stream_rate", [](Profile& p, const Reading& r) { p.stream_rate = r.rate(); }},
      {"latency", [](Profile& p, const Reading& r) { p.latency = r.time(); }},
      {"message_overhead", [](Profile& p, const Reading& r) { p.message_overhead = r.time(); }},
      {"message_gap", [](Profile& p, const Reading& r) { p.message_gap = r.time(); }},
      {"jitter", [](Profile& p, const Reading& r) { p.jitter = r.time(); }},
      {"tail_probability", [](Profile& p, const Reading& r) { p.tail_probability = r.share(); }},
      {"tail", [](Profile& p, const Reading& r) { p.tail = r.time(); }},
      {"in_node_rate", [](Profile& p, const Reading& r) { p.in_node_rate = r.rate(); }},
      {"in_node_latency", [](Profile& p, const Reading& r) { p.in_node_latency = r.time(); }},
      {"source", [](Profile& p, const Reading& r) { p.source = r.text(); }},
  };
  return table;
}

void set_key(Profile& profile, const Reading& reading, std::string_view key) {
  const auto setter = setters().find(key);
  if (setter == setters().end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : setters()) known.push_back(name);
    reading.refuse(fmt::format("is no key of a network; did you mean {}? There are: {}", nearest(key, known), fmt::join(known, ", ")));
  }
  setter->second(profile, reading);
}

void check_complete(const Profile& profile, const std::string& path) {
  const auto require = [&](bool is_there, std::string_view key) {
    if (!is_there) throw ConfigError(fmt::format("{}: [{}] lacks `{}`", path, profile.name, key));
  };
  require(profile.rate.value > 0, "rate");
  require(profile.in_node_rate.value > 0, "in_node_rate");
  require(!profile.source.empty(), "source");
}

}  // namespace

Profile Profile::dilated(double factor) const {
  Profile slow = *this;
  for (BytesPerSecond* r : {&slow.rate, &slow.stream_rate, &slow.in_node_rate}) *r = *r / factor;
  for (Seconds* time : {&slow.latency, &slow.message_overhead, &slow.message_gap, &slow.jitter, &slow.tail, &slow.in_node_latency})
    *time = *time * factor;
  return slow;
}

std::vector<Profile> read_profiles(const std::string& path) {
  const TomlFile file = read_toml(path);
  std::vector<Profile> profiles;
  for (const TomlEntry& entry : file.entries) {
    const Reading reading{file, entry};
    const std::size_t dot = entry.key.find('.');
    if (dot == std::string::npos) reading.refuse("stands outside any network's table, such as [ethernet-25g]");
    const std::string name = entry.key.substr(0, dot);
    if (profiles.empty() || profiles.back().name != name) {
      profiles.emplace_back();
      profiles.back().name = name;
    }
    set_key(profiles.back(), reading, std::string_view(entry.key).substr(dot + 1));
  }
  for (const Profile& profile : profiles) check_complete(profile, path);
  return profiles;
}

std::string to_toml(const Profile& profile) {
  std::string text = fmt::format("[{}]\n", profile.name);
  const auto add = [&](std::string_view key, const std::string& value) { text += fmt::format("{} = {}\n", key, toml_text(value)); };
  const auto add_time = [&](std::string_view key, Seconds time) {
    if (time.value > 0) add(key, to_text(time));
  };
  add("rate", to_text(profile.rate));
  if (profile.achievable != 1) text += fmt::format("achievable = {}\n", toml_text(profile.achievable));
  if (profile.stream_rate.value > 0) add("stream_rate", to_text(profile.stream_rate));
  add_time("latency", profile.latency);
  add_time("message_overhead", profile.message_overhead);
  add_time("message_gap", profile.message_gap);
  add_time("jitter", profile.jitter);
  if (profile.tail_probability > 0) text += fmt::format("tail_probability = {}\n", toml_text(profile.tail_probability));
  add_time("tail", profile.tail);
  add("in_node_rate", to_text(profile.in_node_rate));
  add_time("in_node_latency", profile.in_node_latency);
  add("source", profile.source);
  return text;
}

Profile find_profile(const std::vector<Profile>& profiles, const std::string& name) {
  const auto found = std::ranges::find(profiles, name, &Profile::name);
  if (found != profiles.end()) return *found;
  std::vector<std::string> names;
  for (const Profile& profile : profiles) names.push_back(profile.name);
  throw ConfigError(fmt::format("net.profile = \"{}\": no such network; did you mean {}? The catalog has: none, {}", name,
                                nearest(name, names), fmt::join(names, ", ")));
}

}  // namespace twinax::net
