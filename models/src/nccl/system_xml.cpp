// Reads the XML that NCCL dumps (NCCL_TOPO_DUMP_FILE) and takes (NCCL_TOPO_FILE), as NCCL's topo.cc reads it, except
// that nothing is filled in from /sys or NVML: what is missing is reported. Knows the format, not the machines.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>

#include <pugixml.hpp>

#include "linkcast/models/nccl/system.hpp"

namespace linkcast::models::nccl {

namespace {

constexpr int deepest = 64;                 // levels of nested elements
constexpr std::size_t most_problems = 100;  // further ones of a hopeless file help nobody
constexpr std::size_t most_nodes = 576;     // NCCL_TOPO_MAX_NODES: nodes of one type

enum class Class { bridge, nvswitch, cpu, gpu, nic };

class Reader {
 public:
  Reader(std::string_view text, const std::string& where) : text_{text}, where_{where} {}

  System read() {
    const auto parsed = document_.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      report(parsed.offset, 1, std::string{"this is not well-formed XML: "} + parsed.description(),
             "NCCL writes such a file itself: run any NCCL program with NCCL_TOPO_DUMP_FILE=topo.xml");
      fail();
    }
    const auto root = document_.child("system");
    if (!root) {
      const auto first = document_.first_child();
      report(first ? first.offset_debug() : 0, 1, "no <system> element",
             "an NCCL topology file begins with <system version=\"1\">");
      fail();
    }
    if (const std::string version = root.attribute("version").value(); !version.empty() && version != "1") {
      report_attribute(root, "version", "version \"" + version + "\" of the format is unknown", "NCCL reads version 1");
    }
    system_.name = where_;
    for (const auto child : root.children()) {
      if (child.type() != pugi::node_element) continue;
      if (std::string_view{child.name()} == "cpu")
        cpu(child);
      else
        unknown(child, {"cpu"});
    }
    if (system_.of_type(NodeType::cpu).empty() && problems_.empty()) {
      report_element(root, "the system has no <cpu>", "every <pci> stands inside a <cpu>");
    }
    second_pass(root);
    check_gpus(root);
    for (auto t : {NodeType::gpu, NodeType::pci, NodeType::cpu, NodeType::nic, NodeType::net}) {
      if (system_.of_type(t).size() > most_nodes) {
        report_element(root, "more than 576 nodes of one type", "NCCL itself stops there (NCCL_TOPO_MAX_NODES)");
        break;
      }
    }
    if (!problems_.empty()) fail();
    return std::move(system_);
  }

 private:
  using Xml = pugi::xml_node;

  // ---- messages -----------------------------------------------------------------------------------------------
  void report(std::ptrdiff_t offset, int length, std::string problem, std::string help) {
    if (problems_.size() >= most_problems) return;
    const auto at =
        static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size())));
    const auto before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto start = before.rfind('\n');
    const auto column = start == std::string_view::npos ? at + 1 : at - start;
    problems_.push_back(
        {{where_, static_cast<int>(line), static_cast<int>(column), length}, std::move(problem), std::move(help)});
  }
  void report_element(Xml e, std::string problem, std::string help) {
    report(e.offset_debug(), static_cast<int>(std::string_view{e.name()}.size()), std::move(problem), std::move(help));
  }
  void report_attribute(Xml e, const char* name, std::string problem, std::string help) {
    const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, e.offset_debug()));
    const auto end = text_.find('>', from);
    const auto at = text_.find(std::string{" "} + name, from);
    const std::size_t length = std::string_view{name}.size();
    if (at == std::string_view::npos || at > end)
      report_element(e, std::move(problem), std::move(help));
    else
      report(static_cast<std::ptrdiff_t>(at + 1), static_cast<int>(length), std::move(problem), std::move(help));
  }
  void missing(Xml e, const char* name, const std::string& help) {
    report_element(e, std::string{"<"} + e.name() + label(e) + "> has no '" + name + "'", help);
  }
  static std::string label(Xml e) {
    const std::string_view bus = e.attribute("busid").value();
    return bus.empty() ? std::string{} : std::string{" busid=\""} + std::string{bus} + "\"";
  }
  void unknown(Xml e, std::vector<std::string> known) {
    const auto near = sim::nearest(e.name(), known);
    report_element(e, std::string{"unexpected element <"} + e.name() + ">",
                   near.empty() ? "expected here: <" + known.front() + ">" : "did you mean <" + near + ">?");
  }
  [[noreturn]] void fail() { throw sim::InputError{std::move(problems_), text_}; }

  // ---- attributes ---------------------------------------------------------------------------------------------
  static bool number(std::string_view s, double* value) {
    const std::string copy{s};
    char* end = nullptr;
    *value = std::strtod(copy.c_str(), &end);
    return !copy.empty() && end == copy.c_str() + copy.size();
  }
  /// `fallback` < -1e8: the attribute must be there.
  double numeric(Xml e, const char* name, double fallback, const char* expected) {
    const auto a = e.attribute(name);
    if (!a) {
      if (fallback < -1e8) missing(e, name, expected);
      return fallback;
    }
    double v = 0;
    if (!number(a.value(), &v)) {
      report_attribute(e, name, std::string{"'"} + name + "' is \"" + a.value() + "\", which is not a number",
                       expected);
      return fallback < -1e8 ? 0 : fallback;
    }
    if (v < -2e9 || v > 2e9) {
      report_attribute(e, name, std::string{"'"} + name + "' is out of range", expected);
      return 0;
    }
    return v;
  }
  int whole(Xml e, const char* name, int fallback, const char* expected) {
    return static_cast<int>(numeric(e, name, fallback, expected));
  }
  static constexpr int required = -1'000'000'000;

  static std::uint64_t hex(const char* s) { return std::strtoull(s, nullptr, 16); }

  /// "0000:15:00.0" as NCCL packs it; -1 where it is not a bus id.
  static std::int64_t bus_id(std::string_view s) {
    std::int64_t id = 0;
    int digits = 0;
    for (const char c : s) {
      if (c == ':' || c == '.') continue;
      const auto v =
          std::string_view{"0123456789abcdef"}.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
      if (v == std::string_view::npos || ++digits > 15) return -1;
      id = id * 16 + static_cast<std::int64_t>(v);
    }
    return digits == 0 ? -1 : id;
  }

  bool class_of(Xml pci, Class* result) {
    const auto a = pci.attribute("class");
    if (!a) {
      missing(pci, "class", "NCCL reads it from /sys on the machine; take the file there with NCCL_TOPO_DUMP_FILE");
      return false;
    }
    *result = class_of(std::string_view{a.value()});
    return true;
  }
  static Class class_of(std::string_view c) {
    if (c.starts_with("0x068000")) return Class::nvswitch;
    if (c.starts_with("0x068001")) return Class::cpu;
    if (c.starts_with("0x03")) return Class::gpu;
    if (c.starts_with("0x02")) return Class::nic;
    return Class::bridge;
  }

  // ---- first pass: the tree -----------------------------------------------------------------------------------
  void cpu(Xml e) {
    Node n;
    n.type = NodeType::cpu;
    n.host = hex(e.attribute("host_hash").value());
    host_ = host_index(n.host);
    n.id = packed(whole(e, "numaid", required, "the NUMA domain's number: numaid=\"0\""));
    n.name = std::string{"CPU "} + e.attribute("numaid").value();
    n.arch = e.attribute("arch").value();
    n.vendor = e.attribute("vendor").value();
    if (n.arch.empty()) {
      missing(e, "arch", "one of x86_64, arm64, ppc64; NCCL reads it on the machine");
    } else if (n.arch != "x86_64" && n.arch != "arm64" && n.arch != "ppc64") {
      report_attribute(e, "arch", "unknown architecture \"" + n.arch + "\"", "one of x86_64, arm64, ppc64");
    } else if (n.arch == "x86_64") {
      if (n.vendor.empty())
        missing(e, "vendor", "GenuineIntel or AuthenticAMD: it decides the bandwidth between sockets");
      const bool modelled = n.vendor == "GenuineIntel";
      n.family = whole(e, "familyid", modelled ? required : 0, "Intel's CPU family: familyid=\"6\"");
      n.model = whole(e, "modelid", modelled ? required : 0, "Intel's CPU model, for example 143 (Sapphire Rapids)");
    }
    numa_ = static_cast<int>(n.id & 0xff);
    const int me = system_.add(std::move(n));
    for (const auto child : e.children()) {
      if (child.type() != pugi::node_element) continue;
      const std::string_view name = child.name();
      if (name == "pci") {
        pci(child, me, 1);
      } else if (name == "nic") {
        Node nic;
        nic.type = NodeType::nic;
        nic.name = "NIC";
        const int at = system_.add(std::move(nic));
        system_.connect(me, at, EdgeType::pci, 5000);
        nets(child, at);
      } else {
        unknown(child, {"pci", "nic"});
      }
    }
  }

  std::int64_t packed(std::int64_t local) const { return (static_cast<std::int64_t>(host_) << 56) + local; }

  int host_index(std::uint64_t hash) {
    const auto it = std::find(hosts_.begin(), hosts_.end(), hash);
    if (it != hosts_.end()) return static_cast<int>(it - hosts_.begin());
    hosts_.push_back(hash);
    return static_cast<int>(hosts_.size()) - 1;
  }

  double link_bw(Xml e) {
    const int lanes = whole(e, "link_width", 0, "PCIe lanes: link_width=\"16\"");
    double rate = 0;
    const std::string_view speed = e.attribute("link_speed").value();  // "16.0 GT/s PCIe"
    number(speed.substr(0, speed.find(' ')), &rate);
    return pcie_GBps(rate, lanes);
  }

  void pci(Xml e, int parent, int depth) {
    if (depth > deepest) {
      report_element(e, "more than 64 levels of <pci>", "a PCIe tree is a few levels deep");
      return;
    }
    Class kind{};
    if (!class_of(e, &kind)) return;
    const auto bus = e.attribute("busid");
    const auto id = bus_id(bus.value());
    if (!bus) {
      missing(e, "busid", "the PCI address: busid=\"0000:15:00.0\"");
      return;
    }
    if (id < 0) {
      report_attribute(e, "busid", std::string{"\""} + bus.value() + "\" is not a PCI address",
                       "expected domain:bus:device.function, such as 0000:15:00.0");
      return;
    }
    const double bw = link_bw(e);
    if (kind == Class::gpu || e.child("gpu")) {
      gpu(e, id, parent, bw);
    } else if (const auto nic = e.child("nic")) {
      const auto key = packed(id);
      auto it = nics_.find(key);
      const bool fresh = it == nics_.end();
      if (fresh) {
        Node n;
        n.type = NodeType::nic;
        n.id = key;
        n.name = std::string{"NIC "} + bus.value();
        it = nics_.emplace(key, system_.add(std::move(n))).first;
      }
      nets(nic, it->second);
      if (fresh) system_.connect(it->second, parent, EdgeType::pci, bw);
    } else if (kind == Class::bridge) {
      Node n;
      n.type = NodeType::pci;
      n.id = packed(id);
      n.name = std::string{"PCI "} + bus.value();
      const auto part = [&](const char* name) { return hex(e.attribute(name).value()) & 0xffff; };
      n.pci_device =
          part("vendor") << 48 | part("device") << 32 | part("subsystem_vendor") << 16 | part("subsystem_device");
      const int me = system_.add(std::move(n));
      bridges_.emplace(packed(id), me);
      for (const auto child : e.children()) {
        if (child.type() != pugi::node_element) continue;
        const std::string_view name = child.name();
        if (name == "pci")
          pci(child, me, depth + 1);
        else if (name != "pcilink")
          unknown(child, {"pci", "pcilink", "nic", "gpu"});
      }
      system_.connect(me, parent, EdgeType::pci, bw);
    } else if (kind == Class::nic) {
      idle_nics_.push_back(e);
    }
  }

  void gpu(Xml e, std::int64_t id, int parent, double bw) {
    const auto leaf = e.child("gpu");
    if (!leaf || !leaf.attribute("rank")) {
      idle_gpus_.push_back(leaf ? leaf : e);  // NCCL trims GPUs that no rank uses
      return;
    }
    Node n;
    n.type = NodeType::gpu;
    n.id = packed(id);
    n.name = std::string{"GPU "} + e.attribute("busid").value();
    n.rank = whole(leaf, "rank", required, "the rank that uses this GPU");
    n.cc = whole(leaf, "sm", required, "the compute capability, such as sm=\"90\"");
    n.dev = whole(leaf, "dev", required, "NVML's number of the GPU");
    n.gdr = whole(leaf, "gdr", 1, "0 or 1") != 0;
    if (leaf.attribute("sm") && (n.cc < 30 || n.cc > 999)) {
      report_attribute(leaf, "sm", "no GPU has compute capability " + std::to_string(n.cc), "such as 80, 90, 100");
    }
    if (!ranks_.insert(n.rank).second) {
      report_attribute(leaf, "rank", "rank " + std::to_string(n.rank) + " is on two GPUs", "one rank per GPU");
    }
    const auto key = n.id;
    const int me = system_.add(std::move(n));
    if (!gpus_.emplace(key, me).second) {
      report_attribute(e, "busid", std::string{"two GPUs have the address "} + e.attribute("busid").value(),
                       "addresses are unique within a host");
    }
    gpu_xml_.push_back({me, leaf, host_});
    system_.connect(me, parent, EdgeType::pci, bw);
  }

  void nets(Xml e, int nic) {
    for (const auto child : e.children("net")) {
      if (!child.attribute("dev") || whole(child, "net", 1, "0 or 1") == 0) continue;
      Node n;
      n.type = NodeType::net;
      n.name = child.attribute("name").value();
      n.dev = whole(child, "dev", 0, "the port's number: dev=\"0\"");
      n.id = packed(n.dev);
      const auto guid = child.attribute("guid");
      n.guid = guid ? hex(guid.value()) : static_cast<std::uint64_t>(n.id);
      double mbps = numeric(child, "speed", 0, "Mb/s: speed=\"400000\"");
      if (mbps <= 0) mbps = 10000;
      n.net_GBps = static_cast<float>(mbps / 8000.0);
      n.net_latency_us = numeric(child, "latency", 0, "microseconds");
      n.port = whole(child, "port", 0, "the port of the adapter");
      n.gdr = whole(child, "gdr", 0, "0 or 1") != 0;
      n.max_conn = whole(child, "maxconn", 64, "connections");
      n.collnet = whole(child, "coll", 0, "0 or 1") != 0;
      n.rail = whole(child, "rail", -1, "the rail's number");
      n.plane = whole(child, "plane", -1, "the plane's number");
      const double bw = n.net_GBps;
      const int me = system_.add(std::move(n));
      system_.connect(nic, me, EdgeType::net, bw);
    }
  }

  // ---- second pass: NVLink, C2C, PCI peer links ---------------------------------------------------------------
  void second_pass(Xml root) {
    for (const auto& g : gpu_xml_) {
      for (const auto link : g.xml.children("nvlink")) nvlink(g, link);
    }
    for (const auto& [pair, link] : directed_) {
      if (directed_.count({pair.second, pair.first}) == 0) {
        report_element(link, "this NVLink has no counterpart at its target",
                       "GPU-to-GPU links are listed at both GPUs, with the same count");
      }
    }
    for (const auto& g : gpu_xml_) {
      for (const auto link : g.xml.children("c2c")) {
        const int cpu = cpu_of(g.node);
        const double bw = numeric(link, "bw", required, "MB/s of one link: bw=\"44712\"") *
                          numeric(link, "count", required, "the number of links: count=\"5\"") / 1000.0;
        if (cpu >= 0 && bw > 0) system_.connect(g.node, cpu, EdgeType::c2c, bw);
      }
    }
    for (const auto cpu_xml : root.children("cpu")) {
      host_ = host_index(hex(cpu_xml.attribute("host_hash").value()));
      pci_links(cpu_xml, 0);
    }
  }

  struct GpuXml {
    int node;
    Xml xml;
    int host;
  };

  void nvlink(const GpuXml& g, Xml link) {
    const int count = whole(link, "count", required, "the number of links: count=\"18\"");
    const auto tclass = link.attribute("tclass");
    if (!tclass) {
      missing(link, "tclass", "the class of the other end: 0x068000 an NVSwitch, 0x030200 a GPU");
      return;
    }
    if (count <= 0) return;
    const double bw = count * nvlink_GBps(system_.nodes()[g.node].cc);
    const auto kind = class_of(std::string_view{tclass.value()});
    if (kind == Class::gpu) {
      const auto id = bus_id(link.attribute("target").value());
      if (id < 0) {
        report_element(link, "this NVLink names no GPU as its target", "target=\"0000:15:00.0\"");
        return;
      }
      const auto it = gpus_.find((static_cast<std::int64_t>(g.host) << 56) + id);
      if (it == gpus_.end()) return;  // a GPU of the machine that is not in use
      system_.connect_one_way(g.node, it->second, EdgeType::nvl, bw);
      directed_.emplace(std::pair{g.node, it->second}, link);
      return;
    }
    if (kind == Class::cpu) {
      if (const int cpu = cpu_of(g.node); cpu >= 0) system_.connect(g.node, cpu, EdgeType::nvl, bw);
      return;
    }
    if (nvswitch_ < 0) {  // NCCL sees all NVSwitches as one
      Node n;
      n.type = NodeType::nvs;
      n.name = "NVS";
      nvswitch_ = system_.add(std::move(n));
    }
    system_.connect(g.node, nvswitch_, EdgeType::nvl, bw);
  }

  int cpu_of(int gpu) const {
    std::vector<int> todo{gpu};
    std::set<int> seen{gpu};
    while (!todo.empty()) {
      const int at = todo.back();
      todo.pop_back();
      for (const auto& e : system_.edges()[at]) {
        if (e.type != EdgeType::pci || !seen.insert(e.to).second) continue;
        const auto type = system_.nodes()[e.to].type;
        if (type == NodeType::cpu) return e.to;
        if (type == NodeType::pci) todo.push_back(e.to);
      }
    }
    return -1;
  }

  void pci_links(Xml e, int depth) {
    if (depth > deepest) return;
    for (const auto child : e.children("pci")) {
      for (const auto link : child.children("pcilink")) {
        const auto a = bridges_.find(packed(bus_id(child.attribute("busid").value())));
        const auto b = bridges_.find(packed(bus_id(link.attribute("target").value())));
        if (a != bridges_.end() && b != bridges_.end()) {
          system_.connect_one_way(a->second, b->second, EdgeType::loc, 5000);
        }
      }
      pci_links(child, depth + 1);
    }
  }

  void check_gpus(Xml root) {
    if (!gpus_.empty()) return;
    for (const auto e : idle_gpus_) {
      if (std::string_view{e.name()} == "gpu") {
        missing(e, "rank", "NCCL fills it in while it runs; in a file of your own number the GPUs from rank=\"0\"");
      } else {
        report_element(e, "GPU" + label(e) + " has no <gpu dev sm rank> element",
                       "NCCL fills it in from NVML on the machine: take the file there with NCCL_TOPO_DUMP_FILE, or "
                       "name the machine by its catalog entry");
      }
    }
    for (const auto e : idle_nics_) {
      report_element(e, "NIC" + label(e) + " has no <nic><net speed dev/></nic> element",
                     "NCCL fills it in from the network plugin on the machine");
    }
    if (problems_.empty())
      report_element(root, "the system has no GPU", "a GPU is <pci class=\"0x030200\"><gpu rank=\"0\"/>");
  }

  std::string_view text_;
  std::string where_;
  pugi::xml_document document_;
  std::vector<sim::Diagnostic> problems_;
  System system_;
  std::vector<std::uint64_t> hosts_;
  int host_ = 0, numa_ = 0, nvswitch_ = -1;
  std::map<std::int64_t, int> nics_, bridges_, gpus_;
  std::map<std::pair<int, int>, Xml> directed_;
  std::set<int> ranks_;
  std::vector<GpuXml> gpu_xml_;
  std::vector<Xml> idle_gpus_, idle_nics_;
};

}  // namespace

System read_topology_xml(std::string_view text, const std::string& where) { return Reader{text, where}.read(); }

}  // namespace linkcast::models::nccl
