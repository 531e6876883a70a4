// See graph_file.hpp.
#include "nccl/graph_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <pugixml.hpp>

#include "nccl/communicator_impl.hpp"
#include "nccl/rules.hpp"

namespace linkcast::models::nccl {

namespace {

class GraphReader {
 public:
  GraphReader(std::string_view text, const std::string& where, const Machine& machine, int cross_nic, bool inter)
      : text_{text}, where_{where}, machine_{machine}, cross_nic_{cross_nic}, inter_{inter} {}

  std::map<int, Found> read() {
    const auto parsed = document_.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      report(parsed.offset, 1, std::string{"this is not well-formed XML: "} + parsed.description(),
             "NCCL writes such a file itself: NCCL_GRAPH_DUMP_FILE=graph.xml");
      fail();
    }
    const auto root = document_.child("graphs");
    if (!root) {
      report(document_.first_child().offset_debug(), 1, "no <graphs> element",
             "an NCCL graph file begins with <graphs version=\"1\">");
      fail();
    }
    for (const auto graph : root.children("graph")) read_graph(graph);
    if (!problems_.empty()) fail();
    return std::move(graphs_);
  }

 private:
  using Xml = pugi::xml_node;

  void report(std::ptrdiff_t offset, int length, std::string problem, std::string help) {
    if (problems_.size() >= 100) return;
    const auto at =
        static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size())));
    const auto before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto start = before.rfind('\n');
    const auto column = start == std::string_view::npos ? at + 1 : at - start;
    problems_.push_back(
        {{where_, static_cast<int>(line), static_cast<int>(column), length}, std::move(problem), std::move(help)});
  }
  void at(Xml e, std::string problem, std::string help) {
    report(e.offset_debug(), static_cast<int>(std::string_view{e.name()}.size()), std::move(problem), std::move(help));
  }
  [[noreturn]] void fail() { throw sim::InputError{std::move(problems_), text_}; }

  int whole(Xml e, const char* name, int least, int most) {
    const char* text = e.attribute(name).value();
    char* end = nullptr;
    const long long v = std::strtoll(text, &end, 0);
    if (*text == '\0' || *end != '\0' || v < least || v > most) {
      at(e, std::string{"'"} + name + "' is \"" + text + "\"",
         "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
      return least;
    }
    return static_cast<int>(v);
  }
  float rate(Xml e, const char* name) {
    const char* text = e.attribute(name).value();
    char* end = nullptr;
    const float v = std::strtof(text, &end);
    if (*text == '\0' || *end != '\0' || !(v >= 0 && v < 1e5F)) {
      at(e, std::string{"'"} + name + "' is \"" + text + "\"", "GB/s per channel");
      return 0;
    }
    return v;
  }
  PathType level(Xml e, const char* name) {
    const char* text = e.attribute(name).value();
    const auto t = path_level(text);
    if (!t) at(e, std::string{"'"} + name + "' is \"" + text + "\"", "one of LOC NVL NVB PIX PXB P2C PXN PHB SYS");
    return t.value_or(PathType::sys);
  }

  void read_graph(Xml e) {
    const int id = whole(e, "id", 0, 4);
    const int crossing = whole(e, "crossnic", 0, 2);
    if (cross_nic_ == 0 && crossing == 1) return;  // NCCL then searches
    Found f;
    f.pattern = static_cast<Pattern>(whole(e, "pattern", 1, 6));
    const bool tree = f.pattern >= Pattern::balanced_tree && f.pattern <= Pattern::tree;
    const bool fits[] = {f.pattern == Pattern::ring, tree, tree, f.pattern == Pattern::nvls,
                         f.pattern == Pattern::collnet_direct};
    if (!fits[id]) {
      at(e, "graph " + std::to_string(id) + " cannot have pattern " + std::to_string(static_cast<int>(f.pattern)),
         "0 is the ring (4), 1 the tree (1 to 3), 2 the CollNet chain (3), 3 NVLS (5), 4 CollNet direct (6)");
    }
    f.collnet = id == 2 || id == 4;
    f.cross_nic = crossing;
    const int announced = whole(e, "nchannels", 0, 64);
    f.bw_intra = rate(e, "speedintra");
    f.bw_inter = rate(e, "speedinter");
    f.latency_inter = e.attribute("latencyinter") ? rate(e, "latencyinter") : 0.0F;
    f.type_intra = level(e, "typeintra");
    f.type_inter = level(e, "typeinter");
    f.same_channels = whole(e, "samechannels", 0, 1) != 0;
    const int gpus = machine_.gpus();
    f.gpus.assign(static_cast<std::size_t>(64 * gpus), 0);
    for (auto& pair : f.nets) pair = {-1, -1};
    for (const auto channel : e.children("channel")) {
      if (f.channels == 64) break;
      read_channel(channel, f);
      ++f.channels;
    }
    if (f.channels != announced) {
      at(e, "nchannels is " + std::to_string(announced) + ", but there are " + std::to_string(f.channels) + " channels",
         "one <channel> for each");
    }
    if (f.channels > 0) graphs_[id] = std::move(f);
  }

  void read_channel(Xml channel, Found& f) {
    const int gpus = machine_.gpus(), c = f.channels;
    const bool head_only = f.pattern == Pattern::nvls || f.pattern == Pattern::collnet_direct;
    std::vector<int> order;
    int nets = 0;
    for (const auto e : channel.children()) {
      const std::string_view kind = e.name();
      const auto dev = std::strtoull(e.attribute("dev").value(), nullptr, 16) & 0xffffffffffffffULL;
      if (kind == "net") {
        const int slot = slot_of(NodeType::net, dev);
        if (slot < 0)
          at(e, "no network port has the number " + std::to_string(dev), "numbers here are hexadecimal");
        else if (nets < 2)
          f.nets[c][nets++] = slot;
      } else if (kind == "gpu") {
        int slot = slot_of(NodeType::gpu, dev);
        if (e.attribute("rank")) slot = machine_.slot[whole(e, "rank", 0, gpus - 1)];
        if (slot < 0) {
          at(e, "no GPU has the number " + std::to_string(dev), "numbers here are hexadecimal");
        } else if (std::find(order.begin(), order.end(), slot) != order.end()) {
          at(e, "a GPU that this channel has passed already", "every GPU once");
        } else {
          order.push_back(slot);
        }
      }
    }
    const auto wanted = static_cast<std::size_t>(head_only ? 1 : gpus);
    if (order.size() < wanted && problems_.empty()) {
      at(channel, "a channel of " + std::to_string(order.size()) + " GPUs", "the machine has " + std::to_string(gpus));
    }
    for (std::size_t i = 0; i < order.size() && i < static_cast<std::size_t>(gpus); ++i)
      f.gpus[c * gpus + static_cast<int>(i)] = order[i];
    if (inter_ && nets == 0 && problems_.empty())
      at(channel, "a channel without a network port", "several nodes need one");
    if (nets == 1) f.nets[c][1] = f.nets[c][0];
  }

  int slot_of(NodeType type, unsigned long long dev) const {
    for (int i = 0; i < machine_.topo->count(type); ++i) {
      if (static_cast<unsigned long long>(machine_.topo->node(type, i).facts->dev) == dev) return i;
    }
    return -1;
  }

  std::string_view text_;
  std::string where_;
  const Machine& machine_;
  int cross_nic_;
  bool inter_;
  pugi::xml_document document_;
  std::vector<sim::Diagnostic> problems_;
  std::map<int, Found> graphs_;
};

}  // namespace

std::map<int, Found> read_graphs(std::string_view text, const std::string& where, const Machine& machine, int cross_nic,
                                 bool inter) {
  return GraphReader{text, where, machine, cross_nic, inter}.read();
}

std::string read_graph_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || text.str().empty()) {
    throw sim::InputError{"NCCL_GRAPH_FILE=" + path + " cannot be read",
                          "a file that NCCL_GRAPH_DUMP_FILE has written"};
  }
  return text.str();
}

}  // namespace linkcast::models::nccl
