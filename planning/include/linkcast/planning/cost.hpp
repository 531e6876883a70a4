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
  std::string part;  // "dgx-h100", "qm9700", "400G transceiver", "DAC 3 m"
  std::string tier;  // "leaf", "nic-leaf"; may be empty
  std::int64_t count = 0;
  Band usd, watts;  // of one
  std::string source, date;
};

struct BillOfMaterials {
  std::vector<BomLine> lines;
  int gpus = 0, nodes = 0;
  std::vector<std::string> notes;  // what has no price, what was assumed

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
  static std::shared_ptr<const Prices> parse(std::string_view text, const std::string& where);

  struct Data;
  explicit Prices(std::shared_ptr<const Data> data) : data_{std::move(data)} {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

BillOfMaterials bill_of_materials(const topologies::Cluster& cluster, const Prices& prices);
std::string to_csv(const BillOfMaterials& bom);

/// What the cluster costs while it runs. Assumptions come from the prices file.
struct Economics {
  Band usd_per_gpu_hour;  // capex over its years, energy with PUE, hosting
  Band energy_usd_per_year;
  double facility_watts = 0;  // typical, with PUE
  std::optional<Band> usd_per_million_tokens;
  std::vector<std::string> assumptions;
};
/// `tokens_per_second`: of the whole cluster; 0: not known. `goodput`: the share of time that is not lost.
Economics economics(const BillOfMaterials& bom, const Prices& prices, double tokens_per_second = 0, double goodput = 1);

}  // namespace linkcast::planning
