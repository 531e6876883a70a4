#include "series_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "series_cluster.hpp"

namespace linkcast::calibration {

std::string reason_to_skip(const Series& s) {
  static const auto catalog = topologies::catalog_names();
  if (!s.system) return "no system named";
  if (s.cpu_time) return "the times are the host's (nccl-tests -C), not the collective's";
  if (std::find(catalog.begin(), catalog.end(), *s.system) == catalog.end()) {
    const auto near = sim::nearest(*s.system, catalog);
    return fmt::format("no system '{}' in the catalog{}", *s.system,
                       near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
  if (s.points.empty()) return "no points";
  return {};
}

SeriesModel::SeriesModel(const Series& series) : series_{series} {
  if (const auto reason = reason_to_skip(series); !reason.empty()) throw sim::InputError(series.id + ": " + reason);
  assumed_ = assumptions(series);
  chosen_ = workloads::CollectiveModel(cluster(nullptr), assumed_.communicator).chosen();
}

topologies::Cluster SeriesModel::cluster(const std::shared_ptr<const topologies::Profile>& profile) const {
  auto load = assumed_.load;
  load.profile = profile;
  std::vector<std::string> sentences;
  return cluster_of(series_, topologies::load(*series_.system, load), sentences, profile.get());
}

std::vector<double> SeriesModel::times(const std::shared_ptr<const topologies::Profile>& profile,
                                       const std::vector<std::size_t>& points) const {
  auto options = assumed_.communicator;
  options.chosen = chosen_;
  const workloads::CollectiveModel model(cluster(profile), std::move(options));
  models::nccl::Call call;
  call.op = series_.op;
  call.dtype = series_.dtype;
  call.in_place = series_.in_place;
  std::vector<double> out;
  out.reserve(points.size());
  for (const auto i : points) {
    call.bytes = series_.points[i].size;
    out.push_back(model.run(call).time.us() * 1e-6);
  }
  return out;
}

}  // namespace linkcast::calibration
