// The drawing of a cluster: nothing overlaps, nothing leaves the page, texts fit, what is broken is seen.
#include <regex>

#include "../../topologies/src/draw_cluster.hpp"
#include "../../topologies/src/sketch.hpp"
#include "linkcast/topologies/describe_cluster.hpp"
#include "written_cluster.hpp"

namespace linkcast::topologies {
namespace {

bool overlap(const Drawing::Rect& a, const Drawing::Rect& b) {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

void check_page(const Drawing& d) {
  const auto inside = [&](double x, double y) { return x >= 0 && x <= d.width && y >= 0 && y <= d.height; };
  std::vector<const Drawing::Rect*> boxes;
  for (const auto& r : d.rects) {
    CHECK((inside(r.x, r.y) && inside(r.x + r.w, r.y + r.h)));
    if (!r.container) boxes.push_back(&r);
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      INFO(boxes[i]->tip << " and " << boxes[j]->tip);
      CHECK_FALSE(overlap(*boxes[i], *boxes[j]));
    }
  }
  for (const auto& l : d.lines)
    CHECK((inside(l.x1, l.y1) && inside(l.x2, l.y2) && inside((l.x1 + l.x2) / 2, l.y1 - l.bend)));
  for (std::size_t i = 0; i < d.texts.size(); ++i) {
    const auto& t = d.texts[i];
    INFO(t.text);
    CHECK((inside(t.left(), t.y - t.size) && inside(t.left() + t.width(), t.y)));
    for (std::size_t j = i + 1; j < d.texts.size(); ++j) {
      const auto& u = d.texts[j];
      INFO(u.text);
      const bool apart = t.left() + t.width() <= u.left() || u.left() + u.width() <= t.left() || t.y <= u.y - u.size ||
                         u.y <= t.y - t.size;
      CHECK(apart);
    }
  }
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("drawings of the catalog", "[topologies][svg]") {
  for (const auto* name : {"dgx-h100", "gb200-nvl72", "gh200-x4", "superpod-h100", "superpod-gb200", "alibaba-hpn7",
                           "meta-24k", "alps-cluster", "polaris-cluster", "pcie-rtx4090", "aws-p4d"}) {
    INFO(name);
    const auto d = draw(load_cluster(name), {});
    check_page(d);
    const auto svg = d.svg();
    CHECK(svg.find("<script") == std::string::npos);
    CHECK(svg.find("href") == std::string::npos);
    CHECK(count(svg, "<svg") == 1);
    CHECK(count(svg, "<text") == count(svg, "</text>"));
    CHECK(svg.size() < 200'000);
  }
}

TEST_CASE("a small cluster is drawn whole, a large one folded", "[topologies][svg]") {
  const auto small =
      sketch(cluster_of(machine_with(2, "nodes: 4\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 2}\n")));
  CHECK(small.boxes.size() == 4 + 2 + 1);
  CHECK(std::ranges::all_of(small.boxes, [](const auto& b) { return b.count == 1; }));

  const auto c = load_cluster("superpod-h100");
  const auto large = sketch(c);
  // Two machines and the others, a unit's leaves and the others, four spines and the others.
  CHECK(large.boxes.size() == 3 + 9 + 5);
  std::map<int, int> stand_for;
  std::int64_t cables = 0, all = 0;
  for (const auto& b : large.boxes) stand_for[b.tier] += b.count;
  CHECK(stand_for == std::map<int, int>{{-1, 127}, {0, 32}, {1, 16}});
  for (const auto& b : large.bundles) cables += b.count;
  for (const auto& cable : c.network().cables()) all += cable.count;
  CHECK(cables == all);  // none is lost in the folds
}

TEST_CASE("what is broken is drawn by itself, red and dashed", "[topologies][svg]") {
  const auto c = cluster_of(
      "schema: linkcast.topology/1\nextends: superpod-h100\noverrides:\n  - {nic: \"node[90].nic[3]\", state: down}\n"
      "  - {link: \"leaf[29]-spine[13]\", state: 100 Gb/s, count: 1}\n  - {switch: \"spine[9]\", state: down}\n");
  const auto s = sketch(c);
  for (const auto* name : {"node[90]", "leaf[29]", "spine[13]", "spine[9]"}) {
    INFO(name);
    const auto at = std::ranges::find(s.boxes, name, &Sketch::Box::name);
    REQUIRE(at != s.boxes.end());
    CHECK(at->odd);
  }
  const auto d = draw(c, {});
  check_page(d);
  CHECK(std::ranges::count_if(d.lines, [](const auto& l) { return l.dashed && l.stroke == broken_colour; }) >= 3);
  CHECK(d.svg().find("warning: spine[9]: down") != std::string::npos);
}

TEST_CASE("links are drawn by how busy they were", "[topologies][svg]") {
  CHECK(heat_colour(0) != heat_colour(0.5));
  CHECK(heat_colour(0.5) != heat_colour(1));
  CHECK(heat_width(0) < heat_width(1));
  for (const auto* name : {"dgx-h100", "superpod-h100"}) {
    INFO(name);
    const auto c = load_cluster(name);
    // Of all links only one is in use, and that wholly: the first NVLink of the machine that is drawn.
    SvgOptions options;
    const auto& links = c.machine(0).links();
    const auto first =
        static_cast<std::uint32_t>(std::ranges::find(links, models::LinkKind::nvlink, &Link::kind) - links.begin());
    options.utilisation[c.resource_name(c.resource(0, sim::ResourceId{2 * first}))] = 1;
    const auto d = draw(c, options);
    check_page(d);
    // It, and the darkest of the legend.
    CHECK(std::ranges::count(d.lines, heat_colour(1), &Drawing::Line::stroke) == 2);
    CHECK(std::ranges::count_if(d.lines,
                                [](const auto& l) { return l.tip.find("100.0 % used") != std::string::npos; }) == 1);
    CHECK(d.svg().find("busiest NVLink 100 %") != std::string::npos);
    CHECK(draw(c, {}).svg().find("% used") == std::string::npos);
  }
}

TEST_CASE("networks without tiers, and none", "[topologies][svg]") {
  for (const auto* network :
       {"nodes: 64\nnetwork: {type: torus, switch: qm9700, dims: [4, 4, 4]}\n",
        "nodes: 9\nnetwork: {type: torus, switch: qm9700, dims: [9]}\n", "nodes: 3\nnetwork: {type: ideal}\n", "",
        "network: {cables: [{from: \"node[0].nic[0]\", to: \"node[1].nic[0]\"}, "
        "{from: \"node[0].nic[1]\", to: \"node[1].nic[1]\", state: down}]}\n"}) {
    INFO(network);
    check_page(draw(cluster_of(machine_with(2, network)), {}));
  }
}

TEST_CASE("names with characters of XML", "[topologies][svg]") {
  const auto c = cluster_of(machine_with(1, "title: \"<b> & \\\"c\\\"\"\nnetwork: {type: ideal, hosts: [a<b, c&d]}\n"));
  const auto svg = to_svg(c);
  CHECK(svg.find("a<b") == std::string::npos);
  CHECK(svg.find("&lt;b&gt; &amp; &quot;c&quot;") != std::string::npos);
  check_page(draw(c, {}));
}

TEST_CASE("Graphviz of a cluster", "[topologies][svg]") {
  const auto dot = to_dot(load_cluster("superpod-h100"));
  CHECK(dot.find("label=\"24 more leaves\\nqm9700\"") != std::string::npos);
  CHECK(count(dot, "{rank=same;") == 3);
  CHECK(dot.size() < 20'000);
  // One machine as before.
  const auto machine = load("dgx-h100");
  CHECK(to_dot(Cluster{machine}) == to_dot(machine));
}

}  // namespace linkcast::topologies
