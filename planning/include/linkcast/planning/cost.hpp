// What a cluster costs and draws: its parts counted from the topology, with prices and watts from a dated, sourced file
// (planning/data/prices.yaml) that a user can lay his own over. Knows no workload's time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::planning {

/// Prices differ between sources by a factor of two to three: every figure has three values.
struct Band {
  double low = 0, typical = 0, high = 0;
  Band& operator+=(const Band& o) {
    low += o.low, typical += o.typical, high += o.high;
    return *this;
  }
  friend Band operator*(Band b, double k) { return {b.low * k, b.typical * k, b.high * k}; }
};

enum class BomKind : unsigned char { server, gpu, nic, network_switch, optics, cable, other };
std::string_view name_of(BomKind k);  // "server", "gpu", "nic", "switch", "optics", "cable", "other"

/// One kind of part.
struct BomLine {
  BomKind kind = BomKind::other;
  std::string part;  // "h100-8 (dgx-h100)", "qm9700", "2x400G transceiver", "400G copper, 3 m"
  std::string tier;  // "leaf", "nic-leaf"; may be empty
  std::int64_t count = 0;
  double share = 1;                    // of them that counts here: a job pays its part of a network that others use too
  Band usd, watts;                     // of one
  bool priced = true, metered = true;  // whether there is a figure at all: else zeros, and a note
  std::string source, date;

  Band total_usd() const { return usd * (static_cast<double>(count) * share); }
  Band total_watts() const { return watts * (static_cast<double>(count) * share); }
};

struct BillOfMaterials {
  std::vector<BomLine> lines;
  int gpus = 0, nodes = 0;            // of the machines, whether or not a job uses all GPUs of each
  std::vector<std::string> unpriced;  // "rosetta": parts without a price, so that capex() is too low
  std::vector<std::string> notes;     // what has no price, what was assumed

  Band capex() const;          // USD
  Band power() const;          // W at typical load, without PUE
  Band network_capex() const;  // switches, optics, cables; NICs are servers' where they come with them
  Band network_power() const;
};

/// Prices, watts, and what energy and time cost. Shared, immutable.
class Prices {
 public:
  static std::shared_ptr<const Prices> shipped();
  /// A file of schema linkcast.prices/1 laid over the shipped one. Throws sim::InputError with every problem.
  static std::shared_ptr<const Prices> read(const std::string& path);
  /// The same of a text; as a part of a scenario it needs no `schema`.
  static std::shared_ptr<const Prices> parse(std::string_view text, const std::string& where);
  /// Of the scenario at `path`: the value of its key `prices`, a path beside it or a map; null: the shipped ones.
  /// Problems go to `problems`.
  static std::shared_ptr<const Prices> of_scenario(const workloads::trace::Value* v, const std::string& path,
                                                   workloads::trace::Problems& problems);

  struct Data;
  explicit Prices(std::shared_ptr<const Data> data) : data_{std::move(data)} {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// Of a job (Cluster::job): its machines whole, and of the network the share that its ports have of all ports. What is
/// down counts: it was bought.
BillOfMaterials bill_of_materials(const topologies::Cluster& cluster, const Prices& prices);
std::string to_csv(const BillOfMaterials& bom);

/// What the cluster costs while it runs. Assumptions come from the prices file.
struct Economics {
  Band usd_per_gpu_hour;  // capex over its years, energy with PUE, hosting
  Band energy_usd_per_year;
  double kwh_per_year = 0;    // typical, with PUE
  double facility_watts = 0;  // typical, with PUE
  double tokens_per_second = 0;
  std::optional<Band> usd_per_million_tokens;
  std::vector<std::string> assumptions;
};
/// `tokens_per_second`: of the whole cluster; 0: not known. `goodput`: the share of time that is not lost.
Economics economics(const BillOfMaterials& bom, const Prices& prices, double tokens_per_second = 0, double goodput = 1);

std::string to_text(const BillOfMaterials& bom, const Economics& economics);
/// JSON of schema linkcast.bom/1 (docs/cost.md). `topology`: what was counted.
std::string json_report(const BillOfMaterials& bom, const Economics& economics, std::string_view topology);

}  // namespace linkcast::planning
