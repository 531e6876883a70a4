// See draw_cluster.hpp and svg.hpp: rows of boxes by tier, bundles between them, labels at the left, legend and
// findings below.
#include "draw_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "cluster_data.hpp"
#include "linkcast/topologies/describe_cluster.hpp"
#include "machine_kinds.hpp"
#include "network_tiers.hpp"
#include "sketch.hpp"

namespace linkcast::topologies {
namespace {

constexpr double label_width = 190, margin = 20, row_gap = 120, box_height = 38, box_gap = 14;
constexpr const char* slate = "#5b6b7b";
constexpr std::size_t most_findings = 6, most_rails = 8;

std::string bits(sim::Rate r) { return fmt::format("{:g} Gb/s", r.GBps() * 8); }
std::string bytes(double GBps) {
  return GBps >= 10'000 ? fmt::format("{:.1f} TB/s", GBps / 1000)
         : GBps < 100   ? fmt::format("{:g} GB/s", std::round(GBps * 10) / 10)
                        : fmt::format("{:.0f} GB/s", GBps);
}

class Page {
 public:
  Page(const Cluster& c, const SvgOptions& o)
      : c_{c}, o_{o}, d_{describe(c)}, sketch_{sketch(c, {o.machines, o.switches})} {
    place_.resize(sketch_.boxes.size());
    detail_ = c.machine(0);
    inside_ = measure_machine(*detail_);
  }

  Drawing draw() {
    page_.title = d_.name;
    page_.width = label_width + content_width() + 2 * margin;
    page_.width = std::max(page_.width, 640.0);
    heading();
    rows();
    bundles();
    labels();
    legend();
    findings();
    page_.height = y_ + margin;
    return std::move(page_);
  }

 private:
  bool in_detail(std::size_t box) const { return box == 0; }
  std::vector<std::size_t> row(int tier) const {
    std::vector<std::size_t> out;
    for (std::size_t b = 0; b < sketch_.boxes.size(); ++b) {
      if (sketch_.boxes[b].tier == tier) out.push_back(b);
    }
    return out;
  }
  double width_of(std::size_t box, std::size_t in_row) const {
    const auto& b = sketch_.boxes[box];
    if (in_detail(box)) return inside_.width;
    if (b.count > 1 || b.tier < 0) return 150;
    return in_row > 10 ? 86 : 92;
  }
  double row_width(int tier) const {
    const auto boxes = row(tier);
    double sum = -box_gap;
    for (const auto b : boxes) sum += width_of(b, boxes.size()) + box_gap;
    return sum;
  }
  double content_width() const {
    double out = row_width(-1);
    for (const int t : sketch_.tiers) out = std::max(out, row_width(t));
    return out;
  }

  void heading() {
    const auto room = page_.width - 2 * margin;
    page_.text(margin, 30, fitted(d_.title.empty() ? d_.name : d_.name + ": " + d_.title, room, 17, true), 17,
               Drawing::Anchor::start, true);
    std::string line = fmt::format("{} machine{}, {} GPUs", d_.nodes, d_.nodes == 1 ? "" : "s", d_.gpus);
    if (d_.network_nodes > 0)
      line += fmt::format("; {}, {}, {}; bisection {}, {:.1f} GB/s for each GPU of a half", d_.fabric, d_.generator,
                          d_.routing, bytes(d_.bisection.GBps()), 2 * d_.bisection.GBps() / std::max(1, d_.gpus));
    page_.text(margin, 50, fitted(line, room, 12), 12, Drawing::Anchor::start);
    y_ = 74;
  }

  void rows() {
    // Cables between switches of one tier are arcs above it.
    std::set<int> arcs;
    for (const auto& b : sketch_.bundles) {
      if (sketch_.boxes[b.low].tier == sketch_.boxes[b.high].tier) arcs.insert(sketch_.boxes[b.low].tier);
    }
    for (auto t = sketch_.tiers.rbegin(); t != sketch_.tiers.rend(); ++t) {
      if (arcs.contains(*t)) y_ += 70;
      top_[*t] = y_;
      place_row(*t);
      y_ += box_height + row_gap;
    }
    if (arcs.contains(-1)) y_ += 70;  // machines back to back
    top_[-1] = y_;
    place_row(-1);
    y_ += inside_.height + 14;
  }

  void place_row(int tier) {
    const auto boxes = row(tier);
    double x = label_width + margin + (page_.width - label_width - 2 * margin - row_width(tier)) / 2;
    for (const auto i : boxes) {
      const auto& b = sketch_.boxes[i];
      auto& r = place_[i];
      r.x = x;
      r.y = y_;
      r.w = width_of(i, boxes.size());
      r.h = in_detail(i) ? inside_.height : tier < 0 ? 54 : box_height;
      x += r.w + box_gap;
      if (in_detail(i)) continue;
      r.fill = tier < 0 ? "#f7f8fa" : "#eef3f8";
      if (b.rail >= 0) r.stroke = rail_colour(b.rail);
      if (!b.up) r.stroke = broken_colour, r.dashed = true;
      if (b.count > 1) {
        // A stack: two edges that look out behind.
        for (const double shift : {6.0, 3.0}) {
          auto behind = r;
          behind.x += shift;
          behind.y += shift;
          behind.container = true;
          page_.rects.push_back(behind);
        }
      }
      auto second = b.model;
      if (b.rail >= 0)
        second = b.plane >= 0 ? fmt::format("rail {}, plane {}", b.rail, b.plane) : fmt::format("rail {}", b.rail);
      r.tip = fmt::format("{}: {}", b.name, b.model);
      page_.rects.push_back(r);
      const double line = tier < 0 ? 22 : 16;
      page_.text(r.centre(), r.y + line, fitted(b.name, r.w - 2, 11, true), 11, Drawing::Anchor::middle, true,
                 b.odd ? broken_colour : "#222222");
      page_.text(r.centre(), r.y + line + 15, fitted(b.up ? second : "down", r.w - 2, 9.5), 9.5);
    }
  }

  /// Where bundles meet a box, from left to right so that they do not cross before it.
  void bundles() {
    draw_machine_in_detail();
    const auto& all = sketch_.bundles;
    std::vector<double> from(all.size(), 0), to(all.size(), 0);
    std::map<std::size_t, std::vector<std::size_t>> leaving, entering;
    for (std::size_t i = 0; i < all.size(); ++i) {
      leaving[all[i].low].push_back(i);
      entering[all[i].high].push_back(i);
    }
    const auto spread = [&](std::size_t box, std::vector<std::size_t>& list, std::vector<double>& at, auto other) {
      std::ranges::stable_sort(list, {}, other);
      const auto& r = place_[box];
      for (std::size_t k = 0; k < list.size(); ++k)
        at[list[k]] = r.x + r.w * (0.08 + 0.84 * (static_cast<double>(k) + 0.5) / static_cast<double>(list.size()));
    };
    for (auto& [box, list] : leaving)
      spread(box, list, from, [&](std::size_t i) { return place_[all[i].high].centre(); });
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (const auto nic = static_cast<std::size_t>(all[i].nic); all[i].nic >= 0 && nic < inside_.nics.size())
        from[i] = place_[0].x + inside_.nics[nic];
    }
    for (auto& [box, list] : entering) spread(box, list, to, [&](std::size_t i) { return from[i]; });
    for (std::size_t i = 0; i < all.size(); ++i) draw_bundle(all[i], from[i], to[i]);
  }

  void draw_bundle(const Sketch::Bundle& b, double from, double to) {
    const auto& low = place_[b.low];
    const auto& high = place_[b.high];
    Drawing::Line line;
    line.x1 = from;
    line.x2 = to;
    line.y1 = low.y;
    line.y2 = high.y + high.h;
    const bool level = sketch_.boxes[b.low].tier == sketch_.boxes[b.high].tier;
    if (level) {
      line.x1 = low.centre();
      line.x2 = high.centre();
      line.y1 = line.y2 = low.y;
      line.bend = std::min(55.0, 12 + std::abs(line.x1 - line.x2) / 10);
    }
    if (b.nic >= 0 && !level) line.y1 = low.y + (inside_.height > 0 ? nic_top_ : 0);
    const auto width = [](std::int64_t n) {
      return std::clamp(1 + 0.7 * std::log2(static_cast<double>(std::max<std::int64_t>(n, 1))), 1.0, 7.0);
    };
    const auto broken = b.down + b.slow;
    const auto share = heat() ? busiest(b.cables) : 0;
    line.stroke = heat() ? heat_colour(share) : b.rail >= 0 ? rail_colour(b.rail) : slate;
    line.tip = fmt::format("{} - {}: {} x {}{}{}", sketch_.boxes[b.low].name, sketch_.boxes[b.high].name, b.count,
                           bits(b.rate), b.down > 0 ? fmt::format(", {} down", b.down) : "",
                           b.slow > 0 ? fmt::format(", {} slowed", b.slow) : "");
    if (heat()) line.tip += fmt::format(", the busiest {:.1f} % used", 100 * share);
    const auto sound = b.count - broken;
    if (sound > 0) {
      line.width = heat() ? heat_width(share) : width(sound);
      page_.lines.push_back(line);
    }
    if (broken == 0) return;
    // Beside those that are sound, not over them.
    const double beside = sound > 0 ? line.width / 2 + 2 : 0;
    line.x1 += beside;
    line.x2 += beside;
    line.stroke = broken_colour;
    line.width = std::max(2.0, width(broken));
    line.dashed = true;
    page_.lines.push_back(line);
  }

  void draw_machine_in_detail() {
    std::vector<int> rails(inside_.nics.size(), -1);
    for (const auto& b : sketch_.bundles) {
      if (b.nic >= 0 && static_cast<std::size_t>(b.nic) < rails.size()) rails[static_cast<std::size_t>(b.nic)] = b.rail;
    }
    const auto before = page_.rects.size();
    std::function<double(LinkId)> busy;
    if (heat()) busy = [&](LinkId l) { return of_link(0, l); };
    draw_machine(page_, *detail_, place_[0].x, place_[0].y, c_.node_name(0), rails, busy);
    nic_top_ = page_.rects.size() > before + 1 ? page_.rects[before + 1].y - place_[0].y : 0;
  }

  bool heat() const { return !o_.utilisation.empty(); }
  double of_resource(sim::ResourceId r) const {
    const auto it = o_.utilisation.find(c_.resource_name(r));
    return it == o_.utilisation.end() ? 0 : it->second;
  }
  /// The busier direction.
  double of_link(int node, LinkId link) const {
    const auto first = 2 * static_cast<std::uint32_t>(link);
    return std::max(of_resource(c_.resource(node, sim::ResourceId{first})),
                    of_resource(c_.resource(node, sim::ResourceId{first + 1})));
  }
  double of_cable(std::uint32_t cable) const {
    return std::max(of_resource(c_.cable(CableId{cable}, true)), of_resource(c_.cable(CableId{cable}, false)));
  }
  double busiest(const std::vector<std::uint32_t>& cables) const {
    double out = 0;
    for (const auto c : cables) out = std::max(out, of_cable(c));
    return out;
  }
  /// "busiest 76 %" of NVLinks of the machine in detail; empty where it has none.
  std::string nvlink_text() const {
    double most = 0;
    bool any = false;
    const auto& links = detail_->links();
    for (std::size_t l = 0; l < links.size(); ++l) {
      if (links[l].kind != models::LinkKind::nvlink) continue;
      any = true;
      most = std::max(most, of_link(0, LinkId{static_cast<std::uint32_t>(l)}));
    }
    return any ? fmt::format("busiest NVLink {:.0f} %", 100 * most) : std::string{};
  }

  /// At the left: what a row has, and what is between two rows.
  void labels() {
    const double room = label_width - 6;
    const auto say = [&](double y, const std::string& text, bool bold = false) {
      page_.text(margin, y, fitted(text, room, 11, bold), 11, Drawing::Anchor::start, bold);
    };
    for (const auto& [tier, y] : top_) {
      if (tier < 0) {
        say(y + 16, fmt::format("{} machine{}", d_.nodes, d_.nodes == 1 ? "" : "s"), true);
        say(y + 31, fmt::format("{} GPUs each", d_.gpus_per_node));
        if (d_.machine.nvlink_bare > sim::Rate{})
          say(y + 46, fmt::format("NVLink {} a GPU", bytes(d_.machine.nvlink_bare.GBps())));
        if (d_.nic_bare > sim::Rate{}) say(y + 61, fmt::format("NICs {} a GPU", bytes(d_.nic_bare.GBps())));
        if (const auto text = nvlink_text(); heat() && !text.empty()) say(y + 76, text, true);
        continue;
      }
      const auto name = tier_name(c_.network(), tier);
      double line = y + 14;
      for (const auto& s : d_.switches) {
        if (s.tier != name || line > y + 40) continue;
        say(line, fmt::format("{} x {} {}", s.count, name, s.model), true);
        if (s.radix > 0) say(line + 15, fmt::format("{} ports of {}", s.radix, bits(s.rate)));
        line += 30;
      }
      const auto row = std::ranges::find(d_.tiers, name, &TierRow::tier);
      if (row == d_.tiers.end()) continue;
      line = y + box_height + 32;
      int told = 0;
      for (const auto& cable : d_.cables) {
        if (cable.to != name || cable.from == name || ++told > 2) continue;
        say(line, fmt::format("{} x {}{}", cable.count, bits(cable.bare),
                              cable.down > 0 ? fmt::format(", {} down", cable.down) : ""));
        line += 15;
      }
      say(line, fmt::format("{} each way", bytes(row->down.GBps())));
      const auto below =
          tier > 0 ? std::ranges::find(d_.tiers, tier_name(c_.network(), tier - 1), &TierRow::tier) : d_.tiers.end();
      if (below != d_.tiers.end() && below->oversubscription > 0)
        say(line += 15, fmt::format("{:.2f} : 1", below->oversubscription));
      if (heat()) {
        double most = 0;
        for (const auto& b : sketch_.bundles)
          if (sketch_.boxes[b.high].tier == tier) most = std::max(most, busiest(b.cables));
        say(line + 15, fmt::format("busiest cable {:.0f} %", 100 * most), true);
      }
    }
  }

  void legend() {
    double x = margin;
    const double y = y_ + 14;
    const auto room = [&](double w) { return x + w <= page_.width - margin; };
    const auto box = [&](const char* fill, const std::string& text) {
      Drawing::Rect r{x, y - 10, 14, 12, fill, "#555555", false, false, {}};
      if (!room(60)) return;
      page_.rects.push_back(r);
      page_.text(x + 19, y, text, 11, Drawing::Anchor::start);
      x += 19 + page_.texts.back().width() + 14;
    };
    const auto stroke = [&](const std::string& colour, bool dashed, double width, const std::string& text) {
      const Drawing::Text measure{0, 0, text, 11, Drawing::Anchor::start, false, {}};
      if (!room(30 + measure.width())) return;
      page_.lines.push_back({x, y - 4, x + 24, y - 4, colour, width, dashed, 0, {}});
      page_.text(x + 30, y, text, 11, Drawing::Anchor::start);
      x += 30 + measure.width() + 14;
    };
    for (const auto& [what, n] : d_.machine.devices) {
      if (what.starts_with("gpu ")) box("#b6e3a8", "GPU");
      if (what.starts_with("nvswitch ")) box("#ffd28a", "NVSwitch");
      if (what.starts_with("pcie_switch ")) box("#e4e7ea", "PCIe switch");
      if (what.starts_with("nic ")) box("#ffffff", "NIC");
    }
    if (heat()) {
      for (const int percent : {0, 25, 50, 75, 100})
        stroke(heat_colour(percent / 100.0), false, heat_width(percent / 100.0), fmt::format("{} %", percent));
    }
    std::set<int> rails;
    bool broken = false;
    for (const auto& b : sketch_.bundles) {
      if (!heat() && b.rail >= 0) rails.insert(b.rail);
      broken |= b.down + b.slow > 0;
    }
    for (const int rail : rails) {
      if (static_cast<std::size_t>(rail) < most_rails)
        stroke(rail_colour(rail), false, 3, fmt::format("rail {}", rail));
    }
    if (broken) stroke(broken_colour, true, 3, "down or slowed");
    if (!sketch_.bundles.empty() && !heat()) stroke(slate, false, 5, "wider: more cables");
    y_ += 22;
  }

  void findings() {
    if (!o_.findings) return;
    std::size_t n = 0;
    const auto all = check(c_);
    for (const auto& f : all) {
      if (f.severity == Severity::note || ++n > most_findings) continue;
      y_ += 16;
      page_.text(margin, y_, fitted(fmt::format("{}: {}", name_of(f.severity), f.text), page_.width - 2 * margin, 11),
                 11, Drawing::Anchor::start, false, broken_colour);
    }
    if (n > most_findings) {
      y_ += 16;
      page_.text(margin, y_, fmt::format("and {} more", n - most_findings), 11, Drawing::Anchor::start, false,
                 broken_colour);
    }
  }

  const Cluster& c_;
  const SvgOptions& o_;
  ClusterDescription d_;
  Sketch sketch_;
  std::optional<Fabric> detail_;
  DrawnMachine inside_;
  Drawing page_;
  std::vector<Drawing::Rect> place_;  // by box
  std::map<int, double> top_;         // by tier
  double y_ = 0, nic_top_ = 0;
};

}  // namespace

std::string rail_colour(int rail) {
  static constexpr std::array colours{"#332288", "#88ccee", "#44aa99", "#117733",
                                      "#999933", "#ddcc77", "#aa4499", "#6699cc"};
  return colours[static_cast<std::size_t>(std::max(rail, 0)) % colours.size()];
}

std::string heat_colour(double share) {
  // Viridis from its yellow-green end at intervals of an eighth; the lightest, which paper swallows, is left out.
  static constexpr std::array colours{"#c9d7cf", "#8bd646", "#54c568", "#2fb47c", "#1fa088",
                                      "#277f8e", "#33638d", "#404688", "#440154"};
  const auto at = std::clamp(share, 0.0, 1.0) * static_cast<double>(colours.size() - 1);
  return colours[static_cast<std::size_t>(std::lround(at))];
}

double heat_width(double share) { return 1 + 4 * std::clamp(share, 0.0, 1.0); }

Drawing draw(const Cluster& cluster, const SvgOptions& options) { return Page{cluster, options}.draw(); }

std::string to_svg(const Cluster& cluster, const SvgOptions& options) { return draw(cluster, options).svg(); }

}  // namespace linkcast::topologies
