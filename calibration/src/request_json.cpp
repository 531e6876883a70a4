// See request_json.hpp.
#include "request_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace linkcast::calibration {

const std::array<std::string, 4> request_names = {"copy", "chase", "launch", "collective"};

namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t most_gpus = 4096, most_bytes = std::int64_t{1} << 44, most_repeats = 1'000'000;
constexpr double longest_us = 1e9;  // below 2^53 ps: what is written is what was read
const std::array<std::string, 3> engine_names = {"unknown", "copy_engine", "sm"};
const std::array<std::string, 2> launch_names = {"kernel", "graph"};

double us_of(sim::Time t) { return static_cast<double>(t.ps()) / 1e6; }

json json_of_place(int gpu) { return gpu == host_memory ? json("host") : json(gpu); }
int place_from(const JsonCursor& at) {
  if (at.is_string()) {
    const std::array<std::string, 1> known = {"host"};
    at.word(known);
    return host_memory;
  }
  return static_cast<int>(at.whole(0, most_gpus));
}

void add_repeat(json& to, const Repetitions& r) {
  to["warmup"] = r.warmup;
  to["rounds"] = r.rounds;
  to["iterations"] = r.iterations;
}
Repetitions repeat_from(const JsonCursor& object) {
  return {static_cast<int>(object["warmup"].whole(0, most_repeats)),
          static_cast<int>(object["rounds"].whole(1, most_repeats)),
          static_cast<int>(object["iterations"].whole(1, most_repeats))};
}

struct ToJson {
  json operator()(const CopyRequest& r) const {
    json out;
    out["transfers"] = json::array();
    for (const auto& t : r.transfers)
      out["transfers"].push_back(json::array({json_of_place(t.from), json_of_place(t.to)}));
    out["size_bytes"] = r.size.count();
    out["engine"] = engine_names[static_cast<std::size_t>(r.engine)];
    out["peer_access"] = r.peer_access;
    out["pull"] = r.pull;
    if (r.engine == Engine::sm) {
      out["reduce"] = r.reduce;
      out["blocks"] = r.blocks;
    }
    add_repeat(out, r.repeat);
    return out;
  }
  json operator()(const ChaseRequest& r) const {
    json out;
    out["gpu"] = r.gpu;
    out["memory"] = json_of_place(r.memory);
    out["working_set_bytes"] = r.working_set.count();
    add_repeat(out, r.repeat);
    return out;
  }
  json operator()(const LaunchRequest& r) const {
    json out;
    out["kind"] = launch_names[static_cast<std::size_t>(r.kind)];
    out["gpus"] = r.gpus;
    add_repeat(out, r.repeat);
    return out;
  }
  json operator()(const CollectiveRequest& r) const {
    json out;
    out["op"] = models::nccl::name_of(r.op);
    out["size_bytes"] = r.size.count();
    out["ranks"] = r.ranks;
    if (!r.choice.algorithm.empty()) out["algorithm"] = r.choice.algorithm;
    if (!r.choice.protocol.empty()) out["protocol"] = r.choice.protocol;
    if (r.choice.channels > 0) out["channels"] = r.choice.channels;
    out["graph"] = r.graph;
    out["in_place"] = r.in_place;
    add_repeat(out, r.repeat);
    return out;
  }
};

Request copy_from(const JsonCursor& object) {
  CopyRequest r;
  if (!object.object_of({"transfers", "size_bytes", "engine", "peer_access", "pull", "reduce", "blocks", "warmup",
                         "rounds", "iterations"}))
    return r;
  for (const auto& pair : object["transfers"].elements()) {
    const auto ends = pair.elements();
    if (ends.size() != 2) {
      pair.problem("a transfer has two ends", "as in [0, 1] or [0, \"host\"]");
      continue;
    }
    r.transfers.push_back({place_from(ends[0]), place_from(ends[1])});
  }
  if (r.transfers.empty()) object.problem("no transfer", "as in \"transfers\": [[0, 1]]");
  r.size = sim::Bytes{object["size_bytes"].whole(1, most_bytes)};
  r.engine = static_cast<Engine>(object["engine"].word(engine_names));
  r.peer_access = object["peer_access"].flag();
  r.pull = object["pull"].flag();
  if (object.has("reduce")) r.reduce = object["reduce"].flag();
  if (object.has("blocks")) r.blocks = static_cast<int>(object["blocks"].whole(0, 1'000'000));
  r.repeat = repeat_from(object);
  return r;
}

Request chase_from(const JsonCursor& object) {
  ChaseRequest r;
  if (!object.object_of({"gpu", "memory", "working_set_bytes", "warmup", "rounds", "iterations"})) return r;
  r.gpu = static_cast<int>(object["gpu"].whole(0, most_gpus));
  r.memory = place_from(object["memory"]);
  r.working_set = sim::Bytes{object["working_set_bytes"].whole(1, most_bytes)};
  r.repeat = repeat_from(object);
  return r;
}

Request launch_from(const JsonCursor& object) {
  LaunchRequest r;
  if (!object.object_of({"kind", "gpus", "warmup", "rounds", "iterations"})) return r;
  r.kind = static_cast<LaunchKind>(object["kind"].word(launch_names));
  for (const auto& gpu : object["gpus"].elements()) r.gpus.push_back(static_cast<int>(gpu.whole(0, most_gpus)));
  if (r.gpus.empty()) object.problem("no GPU", "as in \"gpus\": [0]");
  r.repeat = repeat_from(object);
  return r;
}

Request collective_from(const JsonCursor& object) {
  CollectiveRequest r;
  if (!object.object_of({"op", "size_bytes", "ranks", "algorithm", "protocol", "channels", "graph", "in_place",
                         "warmup", "rounds", "iterations"}))
    return r;
  const auto ops = models::nccl::op_names();
  r.op = models::nccl::op_from(ops[object["op"].word(ops)]).value_or(models::nccl::Op::all_reduce);
  r.size = sim::Bytes{object["size_bytes"].whole(1, most_bytes)};
  r.ranks = static_cast<int>(object["ranks"].whole(0, 10'000'000));
  if (object.has("algorithm")) r.choice.algorithm = object["algorithm"].text();
  if (object.has("protocol")) r.choice.protocol = object["protocol"].text();
  if (object.has("channels")) r.choice.channels = static_cast<int>(object["channels"].whole(1, 64));
  r.graph = object["graph"].flag();
  r.in_place = object["in_place"].flag();
  r.repeat = repeat_from(object);
  return r;
}

}  // namespace

json json_of(const Request& request) {
  json out;
  out[request_names[request.index()]] = std::visit(ToJson{}, request);
  return out;
}

std::string question_of(Request request) {
  std::visit([](auto& r) { r.repeat = {}; }, request);
  return json_of(request).dump();
}

std::optional<Request> request_from(const JsonCursor& object) {
  constexpr std::array readers = {copy_from, chase_from, launch_from, collective_from};
  for (std::size_t i = 0; i < readers.size(); ++i)
    if (object.has(request_names[i].c_str())) return readers[i](object[request_names[i].c_str()]);
  object.problem("no request", fmt::format("one of {}", fmt::join(request_names, ", ")));
  return std::nullopt;
}

json json_of(const Timing& t) { return {{"median_us", us_of(t.median)}, {"spread_us", us_of(t.spread)}, {"n", t.n}}; }

Timing timing_from(const JsonCursor& object) {
  Timing t;
  if (!object.object_of({"median_us", "spread_us", "n"})) return t;
  // Not zero: a rate would be infinite. A picosecond is the grain of sim::Time.
  t.median = sim::Time::from_us(object["median_us"].number(1e-6, longest_us));
  t.spread = sim::Time::from_us(object["spread_us"].number(0, longest_us));
  t.n = static_cast<int>(object["n"].whole(1, most_repeats));
  return t;
}

}  // namespace linkcast::calibration
