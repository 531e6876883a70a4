// See aicb_csv.hpp. Sizes are of whole buffers for every call (aicb workload_applyer.py). Calls block: one stream.
// Rows of computing have a time in nanoseconds (`_elapsed_time`), or the shapes of a product of matrices in bfloat16:
//   flops = 2 m k n, bytes = 2 (m k + k n + m n)
#include "aicb_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "byte_source.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "listed.hpp"
#include "parallel_groups.hpp"
#include "work_by_name.hpp"

namespace linkcast::workloads::readers {
namespace {

using models::nccl::Op;

constexpr std::int64_t most_bytes = std::int64_t{1} << 50, most_repeats = 1 << 20;
constexpr int most_ranks = 1 << 22;

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

/// Commas within quotes and brackets do not separate.
std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> out{""};
  int depth = 0;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted && depth == 0) {
      out.emplace_back();
    } else {
      if (c == '(' || c == '[') ++depth;
      if ((c == ')' || c == ']') && depth > 0) --depth;
      out.back() += c;
    }
  }
  for (auto& cell : out) cell = std::string{trimmed(cell)};
  return out;
}

std::vector<double> numbers(std::string_view s) {
  std::vector<double> out;
  while (!s.empty() && out.size() < 16) {
    double x = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x);
    if (error == std::errc{} && x >= 0 && x < 1e18) {
      out.push_back(x);
      s.remove_prefix(static_cast<std::size_t>(end - s.data()));
    } else {
      s.remove_prefix(1);
    }
  }
  return out;
}

std::optional<std::int64_t> number(const std::string& s) {
  double x = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x);
  if (error != std::errc{} || end != s.data() + s.size() || !(x >= 0) || x > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(x + 0.5);
}

/// "CommType.all_reduce", "CommGroup.tp_group": what comes after the dot.
std::string bare(const std::string& s) {
  const auto dot = s.find('.');
  return dot == std::string::npos ? s : s.substr(dot + 1);
}

struct Row {
  int line = 0;
  std::string type, group, stage, additional;
  std::string size, elapsed;
  std::int64_t ranks = 0, repeats = 1, source = 0;
};

struct Table {
  std::vector<Row> rows;
  int world = 0;  // of "[rank0 ~ rank127]"; 0: not said
};

Table read(const std::string& path, ReadReport& report) {
  const auto text = read_whole(path, std::size_t{1} << 28);
  Table out;
  std::map<std::string, std::size_t> columns;
  bool mine = true;
  int line = 0;
  std::string_view rest{text};
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const auto raw = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line;
    if (raw.empty()) continue;
    if (raw.front() == '[') {
      const auto range = numbers(raw);
      if (range.size() < 2 || range[1] >= most_ranks) continue;
      mine = range[0] == 0;
      out.world = std::max(out.world, static_cast<int>(range[1]) + 1);
      continue;
    }
    const auto c = cells(raw);
    if (std::ranges::find(c, "comm_type") != c.end()) {
      columns.clear();
      for (std::size_t i = 0; i < c.size(); ++i) columns[c[i]] = i;
      continue;
    }
    if (columns.empty()) throw sim::InputError({{{path, line, 1, 1}, "a row before the columns' names", ""}}, text);
    ++report.records;
    if (!mine) {
      report.skip("a row of other ranks: rank 0 stands for all", fmt::format("{}:{}", path, line));
      continue;
    }
    const auto cell = [&](const char* name) {
      const auto at = columns.find(name);
      return at == columns.end() || at->second >= c.size() ? std::string{} : c[at->second];
    };
    Row row;
    row.line = line;
    row.type = bare(cell("comm_type"));
    row.group = bare(cell("comm_group"));
    row.stage = cell("stage");
    row.additional = cell("additional");
    row.size = cell("msg_size");
    row.elapsed = cell("_elapsed_time");
    row.ranks = number(cell("comm_group_size")).value_or(0);
    row.repeats = std::clamp<std::int64_t>(number(cell("count")).value_or(1), 1, most_repeats);
    row.source = number(row.type == "reduce" ? cell("dst") : cell("src")).value_or(0);
    out.rows.push_back(std::move(row));
  }
  return out;
}

const std::map<std::string, std::string>& groups() {
  static const std::map<std::string, std::string> all{
      {"tp_group", "tp"},        {"dp_group", "dp"},       {"pp_group", "pp"},
      {"ep_group", "ep"},        {"ep_dp_group", "dp_ep"}, {"ep_tp_group", "tp_ep"},
      {"embedding_group", "pp"}, {"all_nodes", "world"},   {"all", "world"}};
  return all;
}

ParallelPlan plan_of(const Table& table, const std::string& path, int said, ReadReport& report) {
  std::map<std::string, std::int64_t> sizes;
  for (const auto& row : table.rows)
    if (const auto g = groups().find(row.group); g != groups().end() && row.ranks > 0 && row.ranks <= most_ranks)
      sizes[g->second] = std::max(sizes[g->second], row.ranks);
  const auto size = [&](const char* group) { return sizes.contains(group) ? sizes[group] : std::int64_t{1}; };
  std::int64_t t = size("tp"), e = size("ep"), p = size("pp"),
               d = sizes.contains("dp") ? sizes["dp"] : e * size("dp_ep");
  std::int64_t world = said > 0 ? said : table.world;
  if (world == 0) {
    world = std::max(t * p * d, size("world"));
    report.notes.push_back(fmt::format("the file does not say how many ranks there are: {} by its groups", world));
  }
  if (t * p > world || world % (t * p) != 0 || world > most_ranks || (world / (t * p)) % e != 0)
    throw sim::InputError(fmt::format("{}: {} ranks cannot be divided into groups of tensor {}, pipeline {}, expert {}",
                                      path, world, t, p, e),
                          "the sizes in comm_group_size contradict the ranks");
  ParallelPlan plan;
  plan.world = static_cast<int>(world);
  plan.tensor = static_cast<int>(t);
  plan.expert = static_cast<int>(e);
  plan.pipeline = static_cast<int>(p);
  return plan;
}

/// False: nothing that rank 0 does.
bool operation(const Row& row, const ParallelPlan& plan, Recording& out, Operation& o, std::string& why) {
  o.name = out.names->add(row.stage.empty() ? row.type : row.stage);
  if (row.type == "computation") {
    o.work = row.stage.empty() ? Work::gemm : work_by_name(row.stage);
    if (o.work == Work::other) o.work = Work::gemm;
    if (const auto ns = number(row.elapsed)) {
      o.duration = sim::Time::nanoseconds(*ns);
      return true;
    }
    const auto shape = numbers(row.size);
    if (shape.size() < 4) {
      why = "computing without a time or shapes";
      return false;
    }
    double batch = 1;  // leading dimensions of the first
    for (std::size_t i = 0; i + 4 < shape.size(); ++i) batch *= shape[i];
    const double m = shape[shape.size() - 4] * batch, k = shape[shape.size() - 3], n = shape[shape.size() - 1];
    o.flops = 2 * m * k * n;
    o.touched = 2 * (m * k + k * n + m * n);
    return true;
  }
  if (row.type == "epoch_end") {
    why = "the end of an epoch: nothing is done";
    return false;
  }
  const bool message = row.type == "isend" || row.type == "irecv";
  const auto group = groups().find(message && !groups().contains(row.group) ? "pp_group" : row.group);
  const auto bytes = row.type == "barrier" ? std::optional<std::int64_t>{0} : number(row.size);
  if (!bytes || *bytes > most_bytes) {
    why = "a call without a size";
    return false;
  }
  if (group == groups().end() && row.type != "barrier") {
    why = fmt::format("a call of the unknown group '{}'", row.group);
    return false;
  }
  const auto& name = group == groups().end() ? groups().at("all_nodes") : group->second;
  const auto members = ranks_of_group(plan, name);
  o.bytes = sim::Bytes{*bytes};
  if (message) {
    if (row.additional.ends_with("_prev") || members.size() < 2) {
      why = "a message with the stage before: rank 0 is of the first";
      return false;
    }
    o.kind = row.type == "isend" ? Operation::Kind::send : Operation::Kind::receive;
    o.peer = 1;
    o.communicator = communicator_of(out, plan, name);
    return true;
  }
  static const std::map<std::string, Op> ops{{"all_reduce", Op::all_reduce},
                                             {"broadcast", Op::broadcast},
                                             {"all_gather", Op::all_gather},
                                             {"all_gather_into_tensor", Op::all_gather},
                                             {"reduce_scatter", Op::reduce_scatter},
                                             {"reduce_scatter_tensor", Op::reduce_scatter},
                                             {"barrier", Op::all_reduce},
                                             {"reduce", Op::reduce},
                                             {"all_to_all", Op::alltoall}};
  const auto op = ops.find(row.type);
  if (op == ops.end()) {
    why = fmt::format("a call of unknown type '{}'", row.type.substr(0, 60));
    return false;
  }
  o.kind = Operation::Kind::collective;
  o.op = op->second;
  o.communicator = communicator_of(out, plan, name);
  const auto root = std::ranges::find(members, static_cast<int>(row.source));
  if (root != members.end()) o.root = static_cast<std::int32_t>(root - members.begin());
  return true;
}

}  // namespace

bool is_aicb_csv(const Probe& probe) {
  return probe.head.find("comm_type,") != std::string::npos && probe.head.find("comm_group,") != std::string::npos &&
         probe.head.find("msg_size,") != std::string::npos && probe.head.find('{') == std::string::npos;
}

Recording open_aicb_csv(const std::vector<std::string>& paths, const RecordingOptions& options) {
  if (paths.size() > 1) throw sim::InputError(fmt::format("{}: one file is one workload", paths[1]), "give one file");
  Recording out;
  const auto table = read(paths[0], *out.report);
  const auto plan = plan_of(table, paths[0], options.world, *out.report);
  out.world = plan.world;
  communicator_of(out, plan, "world");
  OneRank rank;
  std::size_t made = 0;
  for (const auto& row : table.rows) {
    Operation o;
    std::string why;
    if (!operation(row, plan, out, o, why)) {
      out.report->skip(why, fmt::format("{}:{}", paths[0], row.line));
      continue;
    }
    ++out.report->used;
    for (std::int64_t i = 0; i < row.repeats && made < (std::size_t{1} << 24); ++i, ++made) rank.add(o);
  }
  if (made == 0) throw sim::InputError(fmt::format("{}: no call and no computing in this workload", paths[0]));
  rank.give_to(out);
  out.report->notes.push_back("rank 0 stands for all; calls wait for each other, as AICB makes them");
  out.source = fmt::format("an AICB workload of {} ranks", plan.world);
  return out;
}

}  // namespace linkcast::workloads::readers
