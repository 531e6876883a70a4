// The JSON variant of Chakra traces: {"workload_graph": [{"Id", "Name", "NodeType", "ctrlDeps", "data_deps", "runtime",
// …}]}. Small by nature: the whole file is read. Spellings of keys differ between producers ("Id", "id").
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "chakra_json.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers::chakra {
namespace {

using nlohmann::json;

std::string plain(std::string_view key) {
  std::string out;
  for (const char c : key)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<std::int64_t> number(const json& v) {
  if (v.is_boolean()) return v.get<bool>() ? 1 : 0;
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (v.is_number_float() && std::abs(v.get<double>()) < 9e18) return static_cast<std::int64_t>(v.get<double>());
  return std::nullopt;
}

void deps(const json& v, std::vector<std::uint64_t>& out) {
  if (!v.is_array()) return;
  for (const auto& x : v)
    if (const auto n = number(x)) out.push_back(static_cast<std::uint64_t>(*n));
}

bool read_node(const json& v, Node& out) {
  bool has_id = false, has_type = false;
  for (const auto& [key, value] : v.items()) {
    const auto k = plain(key);
    const auto n = number(value);
    if (k == "id" && n) out.id = static_cast<std::uint64_t>(*n), has_id = true;
    if ((k == "nodetype" || k == "type") && n) {
      out.type = *n >= 0 && *n <= 7 ? static_cast<NodeType>(*n) : NodeType::other;
      has_type = true;
    }
    if (k == "name" && value.is_string()) out.name = value.get<std::string>();
    if (k == "ctrldeps" || k == "ctrldep") deps(value, out.control);
    if (k == "datadeps" || k == "datadep") deps(value, out.deps);
    if ((k == "runtime" || k == "durationmicros") && n)
      out.duration_us = static_cast<std::uint64_t>(std::max(*n, std::int64_t{}));
    if (k == "iscpuop" && n) out.cpu = *n != 0;
    if (k == "commtype" && n) out.comm_type = n;
    if (k == "commsize" && n) out.comm_size = n;
    if (k == "commsrc" && n) out.src = n;
    if (k == "commdst" && n) out.dst = n;
    if (k == "commtag" && n) out.tag = n;
    if (k == "tid" && n) out.thread = n;
    if (k == "numops" && n) out.num_ops = n;
    if (k == "tensorsize" && n) out.tensor_size = n;
    if (k == "pgname") out.group = value.is_string() ? value.get<std::string>() : n ? std::to_string(*n) : "";
  }
  return has_id && has_type;
}

}  // namespace

JsonTrace read_json(const std::string& path, ReadReport& report) {
  const auto text = read_whole(path, std::size_t{1} << 30);
  json all;
  try {
    all = json::parse(text);
  } catch (const json::parse_error& e) {
    const auto at = std::min<std::size_t>(e.byte > 0 ? e.byte - 1 : 0, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const auto begin = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const auto column = begin == std::string::npos ? at + 1 : at - begin;
    throw sim::InputError({{{path, static_cast<int>(line), static_cast<int>(column), 1},
                            "not valid JSON",
                            "a Chakra trace is one object with \"workload_graph\""}},
                          "");
  } catch (const json::exception&) {
    throw sim::InputError(fmt::format("{}: a number in it is larger than any", path));
  }
  if (!all.is_object() || !all.contains("workload_graph") || !all["workload_graph"].is_array())
    throw sim::InputError(fmt::format("{}: no \"workload_graph\" with a list of nodes", path));
  JsonTrace out;
  if (all.contains("ngpus"))
    if (const auto n = number(all["ngpus"]); n && *n > 0 && *n <= 1 << 24) out.world = static_cast<int>(*n);
  std::uint64_t index = 0;
  for (const auto& v : all["workload_graph"]) {
    Node node;
    if (v.is_object() && read_node(v, node)) {
      node.at = index;
      out.nodes.push_back(std::move(node));
    } else {
      report.skip("a node without Id or NodeType", fmt::format("{}: workload_graph[{}]", path, index));
    }
    ++index;
  }
  return out;
}

}  // namespace linkcast::workloads::readers::chakra
