// Shared keys of the corpus. See corpus_machine.hpp.
#include "corpus_machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "software_facts.hpp"

namespace linkcast::calibration {
namespace {

const std::vector<std::string>& shared_keys() {
  static const std::vector<std::string> keys = {"id",      "source", "title",    "date",  "kind", "system",
                                                "machine", "health", "software", "cause", "notes"};
  return keys;
}

}  // namespace

bool CorpusMachine::read(const std::string& key, const YAML::Node& value, YamlDocument& yaml) {
  if (key == "id") {
    if (const auto s = yaml.text(key, value); !s.empty()) id = s;
  } else if (key == "source") {
    source = yaml.text(key, value);
  } else if (key == "title") {
    title = yaml.text(key, value);
  } else if (key == "date") {
    date = yaml.text(key, value);
  } else if (key == "cause") {
    cause = yaml.text(key, value);
  } else if (key == "system") {
    system = yaml.scalar(key, value);
    if (system && system->empty()) system.reset();
  } else if (key == "health") {
    const auto s = yaml.text(key, value);
    healthy = s != "degraded";
    if (s != "ok" && s != "degraded")
      yaml.problem(value, fmt::format("'{}' is not a value for 'health'", s), "expected ok or degraded");
  } else if (key == "machine" && value.IsMap()) {
    yaml.each(value, [&](const std::string& name, const YAML::Node&, const YAML::Node& v) {
      if (name == "gpu") gpu = yaml.text(name, v);
      if (name == "gpus") gpus = yaml.whole(name, v);
      if (name == "nodes") nodes = yaml.whole(name, v);
      if (name == "gpus_per_node") gpus_per_node = yaml.whole(name, v);
      if (name == "nics_per_node") nics_per_node = yaml.whole(name, v);
      if (name == "nic_gbps") nic_gbps = yaml.number(name, v).value_or(0);
      if (name == "fabric") fabric = yaml.text(name, v);
    });
    if (nic_gbps < 0 || nic_gbps > 1e6)
      yaml.problem(value, "'nic_gbps' is not a rate", "expected a number of Gb/s above 0");
    if (gpus == 0) gpus = gpus_per_node * std::max(nodes, 1);
  } else if (key == "software" && value.IsMap()) {
    yaml.each(value, [&](const std::string& name, const YAML::Node&, const YAML::Node& v) {
      if (name == "nccl") nccl = nccl_version_in(yaml.text(name, v));
      if (name == "notes") software_notes = yaml.text(name, v);
      if (name != "env" || !v.IsMap()) return;
      yaml.each(v, [&](const std::string& variable, const YAML::Node&, const YAML::Node& setting) {
        if (auto s = yaml.scalar(variable, setting)) env[variable] = std::move(*s);
      });
    });
  } else {
    return key == "kind" || key == "notes" || key == "machine" || key == "software";
  }
  return true;
}

void report_unknown_key(const std::string& key, const YAML::Node& at, const std::vector<std::string>& own,
                        YamlDocument& yaml) {
  auto known = shared_keys();
  known.insert(known.end(), own.begin(), own.end());
  const auto near = sim::nearest(key, known);
  yaml.problem(at, fmt::format("unknown key '{}'", key),
               near.empty() ? "free text goes into 'notes'" : fmt::format("did you mean '{}'?", near));
}

}  // namespace linkcast::calibration
