#include "observations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "series_model.hpp"

namespace linkcast::calibration {
namespace {

using topologies::Profile;

class Collective final : public Observation {
 public:
  Collective(const Series& series, const std::shared_ptr<const Profile>& profile) : model_{series} {
    parts_ = topologies::parts_of(model_.cluster(profile));
    for (const auto& p : series.points) {
      FitPoint point;
      point.id = series.id;
      point.system = family_of(*series.system, series.nodes > 1 && series.fabric != "nvlink");
      point.op = series.op;
      point.size = p.size;
      point.measured = p.time.us() * 1e-6;
      points_.push_back(std::move(point));
    }
    model_.times(profile, {0});  // throws here where nothing can be predicted
  }
  const std::vector<FitPoint>& points() const override { return points_; }
  std::vector<double> predict(const std::shared_ptr<const Profile>& profile,
                              const std::vector<std::size_t>& points) const override {
    return model_.times(profile, points);
  }
  std::vector<std::string> parts() const override { return parts_; }
  double rounding(std::size_t i) const override {
    // Two decimals of a bus bandwidth, written as a time: up to 10 % off below 1 MiB (corpus README).
    return model_.series().time_derived_from_busbw && points_[i].size < sim::mib(1) ? 0.05 : 0.0;
  }

 private:
  SeriesModel model_;
  std::vector<FitPoint> points_;
  std::vector<std::string> parts_;
};

/// Copies between GPUs: over NVLink the copy engine decides, over PCIe the slowest link of the way. One point for each
/// row of the matrix (the median of its cells), so that 56 repetitions of one fact do not outvote a sweep.
class Copies final : public Observation {
 public:
  Copies(const PairMatrix& matrix, const std::shared_ptr<const Profile>& profile) : matrix_{matrix} {
    const auto fabric = topologies::load(*matrix.system, {1, {}, profile});
    parts_ = topologies::parts_of(fabric);
    const auto n = fabric.gpus().size();
    for (std::size_t from = 0; from < matrix.cells.size() && from < n; ++from) {
      std::map<bool, std::vector<double>> by_kind;  // over NVLink?
      for (std::size_t to = 0; to < matrix.cells[from].size() && to < n; ++to) {
        if (from == to || !(matrix.cells[from][to].value_or(0) > 0)) continue;
        const auto route = fabric.route(fabric.gpus()[from], fabric.gpus()[to], topologies::Transport::nvlink);
        by_kind[route.has_value()].push_back(*matrix.cells[from][to]);
        other_[{from, route.has_value()}] = to;
      }
      for (auto& [nvlink, cells] : by_kind) {
        std::sort(cells.begin(), cells.end());
        FitPoint point;
        point.id = matrix.id;
        point.system = *matrix.system;
        point.collective = false;
        point.size = sim::mib(256);  // a copy that is long against its start
        point.measured = cells[cells.size() / 2];
        points_.push_back(point);
        where_.push_back({from, nvlink});
      }
    }
  }
  const std::vector<FitPoint>& points() const override { return points_; }
  std::vector<double> predict(const std::shared_ptr<const Profile>& profile,
                              const std::vector<std::size_t>& points) const override {
    const auto fabric = topologies::load(*matrix_.system, {1, {}, profile});
    std::vector<double> out;
    for (const auto i : points) {
      const auto [from, nvlink] = where_[i];
      const auto& gpu = fabric.gpus()[from];
      const auto& to = fabric.gpus()[other_.at({from, nvlink})];
      double rate = static_cast<double>(fabric.gpu_model(gpu).copy_engine.bytes_per_second()) * 1e-9;
      if (!nvlink) {
        const auto route = fabric.route(gpu, to, topologies::Transport::pcie_p2p);
        for (const auto& hop : route ? route->hops : std::vector<topologies::Hop>{}) {
          const auto& link = fabric.links()[static_cast<std::size_t>(hop.link)];
          rate = std::min(rate, static_cast<double>(link.payload.bytes_per_second()) * 1e-9 / hop.weight);
        }
      }
      out.push_back(matrix_.bidirectional ? 2 * rate : rate);
    }
    return out;
  }
  std::vector<std::string> parts() const override { return parts_; }

 private:
  const PairMatrix& matrix_;
  std::vector<FitPoint> points_;
  std::vector<std::pair<std::size_t, bool>> where_;
  std::map<std::pair<std::size_t, bool>, std::size_t> other_;
  std::vector<std::string> parts_;
};

/// Large messages between two hosts: the NIC's rate times what the network's packets leave of it.
class HostPair final : public Observation {
 public:
  explicit HostPair(const PairTest& test) : test_{test} {
    for (const auto& row : test.rows) {
      if (row.size < sim::mib(1) && row.size.count() != 0) continue;
      FitPoint point;
      point.id = test.id;
      point.system = test.system.value_or("") + "*N";
      point.collective = false;
      point.size = row.size.count() == 0 ? sim::mib(64) : row.size;
      point.measured = row.value;
      points_.push_back(point);
    }
  }
  const std::vector<FitPoint>& points() const override { return points_; }
  std::vector<double> predict(const std::shared_ptr<const Profile>& profile,
                              const std::vector<std::size_t>& points) const override {
    const auto at = [&](const char* key) {
      const auto n = topologies::number_at("networks." + test_.fabric + key, profile.get());
      return n ? n->value : 0.0;
    };
    const double payload = at(".packet.payload"), header = at(".packet.header"), residual = at(".residual");
    const double rate =
        test_.nic_gbps / 8 * test_.nics * (payload / (payload + header)) * residual * (test_.bidirectional ? 2 : 1);
    return std::vector<double>(points.size(), rate);
  }
  std::vector<std::string> parts() const override { return {"networks." + test_.fabric}; }

 private:
  const PairTest& test_;
  std::vector<FitPoint> points_;
};

}  // namespace

std::vector<std::unique_ptr<Observation>> observations(const Measurements& m,
                                                       const std::shared_ptr<const Profile>& profile,
                                                       std::vector<std::string>& notes) {
  std::vector<std::unique_ptr<Observation>> out;
  const auto take = [&](const std::string& id, auto make) {
    try {
      auto o = make();
      if (o->points().empty())
        notes.push_back(id + ": nothing in it tells a number of the model");
      else
        out.push_back(std::move(o));
    } catch (const sim::InputError& e) {
      notes.push_back(fmt::format("{}: left out, {}", id, e.diagnostics().front().problem));
    }
  };
  for (const auto& s : m.series) {
    if (!s.healthy)
      notes.push_back(fmt::format("{}: left out, it is marked degraded", s.id));
    else
      take(s.id, [&] { return std::make_unique<Collective>(s, profile); });
  }
  for (const auto& x : m.matrices) {
    const bool tells = x.healthy && !x.latency && x.system && !x.to_host && !x.from_host && !x.read &&
                       x.peer_access.value_or(true) && x.engine != Engine::sm;
    if (tells)
      take(x.id, [&] { return std::make_unique<Copies>(x, profile); });
    else
      notes.push_back(fmt::format("{}: left out, it tells no number of the model", x.id));
  }
  static const std::vector<std::string> kinds{"ib", "roce", "efa", "slingshot", "tcp"};
  for (const auto& t : m.tests) {
    const bool tells = t.healthy && !t.latency && t.nic_gbps > 0 && t.tool.starts_with("ib_") &&
                       std::find(kinds.begin(), kinds.end(), t.fabric) != kinds.end();
    if (tells)
      take(t.id, [&] { return std::make_unique<HostPair>(t); });
    else
      notes.push_back(fmt::format("{}: left out, it tells no number of the model", t.id));
  }
  return out;
}

}  // namespace linkcast::calibration
