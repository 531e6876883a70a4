// `linkcast collective --vary KEY=A,B,...`: the same call for several values of one thing, side by side. The first
// value is what the others are compared with.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "collective.hpp"

namespace linkcast::cli {
namespace {

struct Variant {
  std::string value;
  CollectiveOptions options;
};

struct Answered {
  std::string value;
  int ranks = 0, nodes = 0;
  std::vector<workloads::CollectiveRow> rows;
};

/// Options under their own names; everything else is an NCCL variable or a parameter of the topology.
CollectiveOptions varied(CollectiveOptions o, const std::string& key, const std::string& value) {
  o.vary.clear();
  const std::vector<std::pair<std::string_view, std::string*>> own{{"topology", &o.machine.topology},
                                                                   {"nodes", &o.machine.nodes},
                                                                   {"gpus", &o.machine.gpus},
                                                                   {"ranks", &o.machine.ranks},
                                                                   {"network", &o.machine.network},
                                                                   {"routing", &o.machine.routing},
                                                                   {"placement", &o.machine.placement},
                                                                   {"hosts", &o.machine.hosts},
                                                                   {"nics", &o.machine.nics},
                                                                   {"seed", &o.machine.seed},
                                                                   {"nccl", &o.library.nccl},
                                                                   {"launch", &o.launch},
                                                                   {"fidelity", &o.fidelity},
                                                                   {"dtype", &o.dtype},
                                                                   {"op", &o.op}};
  for (const auto& [name, field] : own) {
    if (name == key) {
      *field = value;
      return o;
    }
  }
  auto& list = key.starts_with("NCCL_") ? o.library.env : o.machine.set;
  std::erase_if(list, [&](const std::string& s) { return s.starts_with(key + "="); });
  if (!value.empty()) list.push_back(key + "=" + value);
  return o;
}

std::vector<Variant> variants_of(const CollectiveOptions& o) {
  const auto equals = o.vary.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError{fmt::format("error: --vary {}: not of the form KEY=A,B,...\n  help: --vary nodes=1,2,4", o.vary)};
  const auto key = o.vary.substr(0, equals);
  std::vector<Variant> out;
  std::size_t begin = equals + 1;
  while (true) {
    const auto end = o.vary.find(',', begin);
    const auto value = o.vary.substr(begin, end - begin);
    out.push_back({value.empty() ? "(unset)" : value, varied(o, key, value)});
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return out;
}

std::string busbw_text(double v) { return v < 10 ? fmt::format("{:.2f}", v) : fmt::format("{:.1f}", v); }

std::string table_of(const std::string& key, const std::vector<Answered>& answers, const std::vector<sim::Bytes>& sizes,
                     std::size_t done_rows) {
  std::size_t width = 22;
  for (const auto& a : answers) width = std::max(width, a.value.size() + 2);
  std::string out =
      fmt::format("# busbw in GB/s (10^9 bytes per second), change of time against the first column\n#\n");
  out += fmt::format("#{:>11}", key);
  for (const auto& a : answers) out += fmt::format("{:>{}}", a.value, width);
  out += fmt::format("\n#{:>11}", "ranks");
  for (const auto& a : answers)
    out += fmt::format(
        "{:>{}}", a.nodes > 1 ? fmt::format("{} on {} nodes", a.ranks, a.nodes) : fmt::format("{}", a.ranks), width);
  out += '\n';
  for (std::size_t i = 0; i < done_rows; ++i) {
    out += fmt::format("{:>12}", size_word(sizes[i]));
    for (std::size_t v = 0; v < answers.size(); ++v) {
      const auto& row = answers[v].rows[i];
      auto cell = busbw_text(row.busbw_GBps);
      if (v > 0) cell += fmt::format(" {:>+7.1f} %", (row.time.us() / answers[0].rows[i].time.us() - 1) * 100);
      out += fmt::format("{:>{}}", cell, width);
    }
    out += '\n';
  }
  out += fmt::format("#{:>11}", "bound by");
  for (const auto& a : answers)
    out += fmt::format("{:>{}}", done_rows > 0 ? a.rows[done_rows - 1].bound_by : "", width);
  out += fmt::format("\n#{:>11}", "algorithm");
  for (const auto& a : answers)
    out += fmt::format(
        "{:>{}}", done_rows > 0 ? a.rows[done_rows - 1].algorithm + "/" + a.rows[done_rows - 1].protocol : "", width);
  return out + fmt::format("    at {}\n", done_rows > 0 ? size_word(sizes[done_rows - 1]) : "");
}

std::string json_of(const std::string& key, const std::vector<Answered>& answers, const std::string& op) {
  nlohmann::ordered_json out;
  out["schema"] = "linkcast.collective-variants/1";
  out["op"] = op;
  out["key"] = key;
  out["variants"] = nlohmann::ordered_json::array();
  for (const auto& a : answers) {
    nlohmann::ordered_json v{{"value", a.value}, {"ranks", a.ranks}, {"nodes", a.nodes}};
    v["rows"] = nlohmann::ordered_json::array();
    for (const auto& r : a.rows)
      v["rows"].push_back({{"size_bytes", r.size.count()},
                           {"time_us", us(r.time)},
                           {"algbw_GBps", r.algbw_GBps},
                           {"busbw_GBps", r.busbw_GBps},
                           {"algorithm", r.algorithm},
                           {"protocol", r.protocol},
                           {"channels", r.channels},
                           {"bound_by", r.bound_by}});
    out["variants"].push_back(std::move(v));
  }
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int perform_varied(const CollectiveOptions& options, Io& io) {
  const auto key = options.vary.substr(0, options.vary.find('='));
  std::vector<Answered> answers;
  std::vector<sim::Bytes> sizes;
  std::size_t rows = 0;
  std::string op;
  for (const auto& variant : variants_of(options)) {
    const auto q = understand(variant.options);
    const auto machine = load_machine(variant.options.machine, q.options.env);
    const int ranks = machine.cluster.ranks();
    if (ranks < 2)
      throw UsageError{fmt::format("error: --vary {}={}: a collective needs at least 2 ranks", key, variant.value)};
    if (q.call.root >= ranks)
      throw sim::InputError{fmt::format("--root: there is no rank {}", q.call.root),
                            fmt::format("the ranks are 0 to {}", ranks - 1)};
    const workloads::CollectiveModel model{machine.cluster, q.options};
    Answered a{variant.value, ranks, machine.cluster.nodes(), {}};
    auto call = q.call;
    for (const auto size : q.sizes) {
      if (io.stop.stop_requested()) break;
      call.bytes = size;
      a.rows.push_back(model.run(call));
    }
    rows = answers.empty() ? a.rows.size() : std::min(rows, a.rows.size());
    sizes = q.sizes;
    op = std::string{models::nccl::name_of(q.call.op)};
    answers.push_back(std::move(a));
    if (io.stop.stop_requested()) break;
  }
  if (options.json)
    io.out << json_of(key, answers, op);
  else
    io.out << fmt::format("# {}{}{}\n", op, options.machine.topology.empty() ? "" : " on ", options.machine.topology)
           << table_of(key, answers, sizes, rows);
  return io.stop.stop_requested() ? interrupted : done;
}

}  // namespace linkcast::cli
