// Writes and parses the measurement file. See measurement_file.hpp.
#include "linkcast/calibration/measurement_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

#include "discovery_json.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "request_json.hpp"

namespace linkcast::calibration {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t largest_file = std::size_t{64} << 20;
constexpr double longest_s = 1e9;
const std::array<std::string, 5> state_names = {"planned", "measured", "partly measured", "dropped", "failed"};

double rounded(double seconds) { return std::round(seconds * 1e6) / 1e6; }

/// What drivers and file systems say may be any bytes; the file is UTF-8.
std::string dumped(const json& value, int indent = -1) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

json json_of(const Cell& cell) {
  auto out = json_of(cell.request);
  if (!cell.algorithm.empty()) out["took"] = {{"algorithm", cell.algorithm}, {"protocol", cell.protocol}};
  out["times"] = json::array();
  for (const auto& t : cell.times) out["times"].push_back(json_of(t));
  return out;
}

/// With a line for each member, and for each GPU.
std::string text_of(const Discovery& machine) {
  const auto members = json_of(machine);
  std::string out;
  for (const auto& [key, value] : members.items()) {
    out += (out.empty() ? "{\n  " : ",\n  ") + dumped(key) + ": ";
    if (key != "gpus" || value.empty()) {
      out += dumped(value);
      continue;
    }
    bool first = true;
    for (const auto& gpu : value) {
      out += (first ? "[\n   " : ",\n   ") + dumped(gpu);
      first = false;
    }
    out += "]";
  }
  return out + "}";
}

/// With a line for each cell: a file of thousands that a person can still read and compare.
std::string text_of(const Item& item) {
  json head;
  head["id"] = item.id;
  head["kind"] = name_of(item.kind);
  head["tells"] = item.tells;
  head["complete"] = item.complete;
  head["took_s"] = rounded(item.took_s);
  if (!item.problem.empty()) head["problem"] = item.problem;
  auto out = dumped(head);
  out.pop_back();
  out += ", \"cells\": [";
  bool first = true;
  for (const auto& cell : item.cells) {
    if (!cell.measured()) continue;
    out += (first ? "\n   " : ",\n   ") + dumped(json_of(cell));
    first = false;
  }
  return out + "]}";
}

/// Whether a request belongs into an item of that kind.
bool fits(ItemKind kind, const Request& r) {
  switch (kind) {
    case ItemKind::launch:
      return std::holds_alternative<LaunchRequest>(r);
    case ItemKind::chase:
      return std::holds_alternative<ChaseRequest>(r);
    case ItemKind::collective:
      return std::holds_alternative<CollectiveRequest>(r);
    default:
      return std::holds_alternative<CopyRequest>(r);
  }
}

std::size_t times_of(const Request& r) {
  if (const auto* copy = std::get_if<CopyRequest>(&r)) return copy->transfers.size();
  return std::holds_alternative<CollectiveRequest>(r) ? 2 : 1;
}

/// A GPU number that the request uses and the machine does not have.
std::optional<int> stranger(const Request& request, int gpus) {
  std::vector<int> used;
  if (const auto* copy = std::get_if<CopyRequest>(&request))
    for (const auto& t : copy->transfers) used.insert(used.end(), {t.from, t.to});
  if (const auto* chase = std::get_if<ChaseRequest>(&request)) used = {chase->gpu, chase->memory};
  if (const auto* launch = std::get_if<LaunchRequest>(&request)) used = launch->gpus;
  for (const int g : used)
    if (g >= gpus) return g;
  return std::nullopt;
}

class FileReader {
 public:
  FileReader(std::string_view text, const std::string& where) : document_{text, where, largest_file} {}

  MeasurementFile read() {
    const JsonCursor root(document_);
    MeasurementFile out;
    if (!is_ours(root)) document_.throw_if_any();
    if (root.object_of({"schema", "created", "tool", "machine", "budget_s", "plan", "items"})) {
      out.created = root["created"].text();
      out.tool = root["tool"].text();
      out.machine = discovery_from(root["machine"]);
      out.budget_s = root["budget_s"].number(0, longest_s);
      for (const auto& planned : root["plan"].elements()) out.plan.push_back(planned_from(planned));
      for (const auto& item : root["items"].elements()) out.items.push_back(item_from(item, out.machine));
    }
    document_.throw_if_any();
    return out;
  }

 private:
  bool is_ours(const JsonCursor& root) {
    if (!root.value().is_object() || !root.has("schema")) {
      root.problem("no measurement of 'linkcast calibrate measure'",
                   fmt::format("expected \"schema\": \"{}\"", measurement_schema));
      return false;
    }
    const auto schema = root["schema"].text();
    if (schema == measurement_schema) return true;
    const bool newer = schema.starts_with("linkcast.measurement/");
    root["schema"].problem(fmt::format("the schema '{}' is not known", schema),
                           newer ? fmt::format("this linkcast reads {}; a newer one wrote the file", measurement_schema)
                                 : fmt::format("expected {}", measurement_schema));
    return false;
  }

  static PlannedItem planned_from(const JsonCursor& at) {
    PlannedItem p;
    if (!at.object_of({"id", "tells", "state", "estimated_s"})) return p;
    p.id = at["id"].text();
    p.tells = at["tells"].text();
    p.state = state_names[at["state"].word(state_names)];
    p.estimated_s = at["estimated_s"].number(0, longest_s);
    return p;
  }

  Item item_from(const JsonCursor& at, const Discovery& machine) {
    Item item;
    if (!at.object_of({"id", "kind", "tells", "complete", "took_s", "problem", "cells"})) return item;
    item.id = at["id"].text();
    if (!ids_.insert(item.id).second) at["id"].problem(fmt::format("the item '{}' is there twice", item.id));
    item.kind = static_cast<ItemKind>(at["kind"].word(item_kind_names()));
    item.tells = at["tells"].text();
    item.complete = at["complete"].flag();
    item.took_s = at["took_s"].number(0, longest_s);
    if (at.has("problem")) item.problem = at["problem"].text();
    std::set<std::string> requests;
    for (const auto& cell : at["cells"].elements()) {
      item.cells.push_back(cell_from(cell, item.kind, machine));
      if (!requests.insert(calibration::json_of(item.cells.back().request).dump()).second && !document_.any_problem())
        cell.problem("the same request is there twice", "each has one answer; remove one of them");
    }
    return item;
  }

  static Cell cell_from(const JsonCursor& at, ItemKind kind, const Discovery& machine) {
    Cell cell;
    if (!at.object_of({"copy", "chase", "launch", "collective", "took", "times"})) return cell;
    const auto request = request_from(at);
    if (!request) return cell;
    cell.request = *request;
    if (!fits(kind, cell.request))
      at.problem(fmt::format("a request of another kind than its item, '{}'", name_of(kind)));
    if (const auto g = stranger(cell.request, static_cast<int>(machine.gpus.size())))
      at.problem(fmt::format("GPU {} is not on this machine", *g),
                 fmt::format("'machine' lists {} GPUs, from 0", machine.gpus.size()));
    if (const auto* copy = std::get_if<CopyRequest>(&cell.request))
      for (const auto& t : copy->transfers) {
        const int hosts = (t.from == host_memory ? 1 : 0) + (t.to == host_memory ? 1 : 0);
        if (hosts == 2 || (kind == ItemKind::host && hosts != 1) || (kind == ItemKind::pairs && hosts != 0))
          at.problem("a copy between other places than its item's", "'host': one GPU and the host; 'pairs': two GPUs");
      }
    if (at.has("took"))
      if (const auto took = at["took"]; took.object_of({"algorithm", "protocol"})) {
        cell.algorithm = took["algorithm"].text();
        cell.protocol = took["protocol"].text();
      }
    for (const auto& t : at["times"].elements()) cell.times.push_back(timing_from(t));
    if (cell.times.size() != times_of(cell.request))
      at["times"].problem(fmt::format("{} times for a request that has {}", cell.times.size(), times_of(cell.request)),
                          "copies: one for each transfer; collectives: wall clock, then events; else one");
    return cell;
  }

  JsonDocument document_;
  std::set<std::string> ids_;
};

}  // namespace

std::string text_of(const MeasurementFile& file) {
  auto text =
      fmt::format("{{\n \"schema\": {},\n \"created\": {},\n \"tool\": {},\n \"machine\": {},\n \"budget_s\": {}",
                  dumped(measurement_schema), dumped(file.created), dumped(file.tool), text_of(file.machine),
                  dumped(file.budget_s));
  text += ",\n \"plan\": [";
  for (const auto& p : file.plan)
    text += (&p == &file.plan.front() ? "\n  " : ",\n  ") +
            dumped({{"id", p.id}, {"tells", p.tells}, {"state", p.state}, {"estimated_s", rounded(p.estimated_s)}});
  text += "],\n \"items\": [";
  for (const auto& item : file.items) text += (&item == &file.items.front() ? "\n  " : ",\n  ") + text_of(item);
  return text + "]}\n";
}

MeasurementFile parse_measurement_file(std::string_view text, const std::string& where) {
  return FileReader(text, where).read();
}

bool is_measurement_file(std::string_view text) {
  return text.substr(0, 4096).find("\"linkcast.measurement/") != std::string_view::npos;
}

}  // namespace linkcast::calibration
