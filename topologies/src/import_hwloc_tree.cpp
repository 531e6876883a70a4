// See import_hwloc_tree.hpp.
#include "import_hwloc_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "import_text.hpp"
#include "natural_order.hpp"

namespace linkcast::topologies {
namespace {

constexpr int max_depth = 64;                  // of objects; real files have about 20
constexpr std::size_t max_domains = 64;        // of one machine
constexpr std::size_t max_matrix = 512;        // objects of a bandwidth matrix
constexpr std::size_t max_devices_here = 512;  // GPUs and NICs

std::string_view attribute(const pugi::xml_node& n, const char* name) { return n.attribute(name).value(); }

std::optional<long> integer(std::string_view text, int base = 10) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

std::string info(const pugi::xml_node& object, std::string_view name) {
  for (const auto& i : object.children("info")) {
    if (attribute(i, "name") == name) return quoted(attribute(i, "value"), 80);
  }
  return {};
}

/// "0302 [10de:2330] [10de:16c1] a1": class, vendor, device.
struct PciType {
  long pci_class = 0, vendor = 0, device = 0;
};
PciType pci_type(std::string_view text) {
  PciType t;
  t.pci_class = integer(text.substr(0, text.find(' ')), 16).value_or(0);
  const auto open = text.find('[');
  if (open == std::string_view::npos || text.size() < open + 10) return t;
  t.vendor = integer(text.substr(open + 1, 4), 16).value_or(0);
  t.device = integer(text.substr(open + 6, 4), 16).value_or(0);
  return t;
}

bool rdma_name(std::string_view name) {
  for (const std::string_view start : {"mlx", "rdmap", "hfi", "bnxt_re", "ib", "roce", "irdma", "efa", "qedr", "opa"}) {
    if (name.substr(0, start.size()) == start) return true;
  }
  return false;
}

std::optional<int> number_at_end(std::string_view name, std::string_view start) {
  if (name.substr(0, start.size()) != start || name.size() > start.size() + 4) return std::nullopt;
  const auto n = integer(name.substr(start.size()));
  return n ? std::optional{static_cast<int>(*n)} : std::nullopt;
}

class HwlocReader {
 public:
  explicit HwlocReader(const ImportInput& in) : in_{in} {}

  HwlocMachine run() {
    if (trimmed(in_.text()).substr(0, 1) != "<") {
      at(0, "is not XML", "lstopo --of xml writes what is read here");
      return {};
    }
    const auto result = document_.load_buffer(in_.text().data(), in_.text().size());
    if (!result) {
      at(result.offset, fmt::format("XML: {}", result.description()), "is the file cut off?");
      return {};
    }
    const auto root = document_.child("topology");
    if (!root) {
      at(0, "no <topology>: not hwloc's XML", "lstopo --of xml writes it");
      return {};
    }
    bitmask_ = attribute(root, "version").substr(0, 1) == "3";
    const auto machine = root.child("object");
    if (!machine) {
      at(root.offset_debug(), "the topology has no object");
      return {};
    }
    m_.product = info(machine, "DMIProductName");
    m_.architecture = info(root, "Architecture");
    if (m_.architecture.empty()) m_.architecture = info(machine, "Architecture");
    cpus(machine, false, 0);
    if (m_.domains.empty()) m_.domains.push_back({});
    places(machine, -1, 0);
    if (!in_.problems.empty()) return {};
    order();
    for (const auto& d : root.children("distances2")) bandwidths(d);
    for (const auto& d : root.children("distances2hetero")) bandwidths(d);
    return std::move(m_);
  }

 private:
  void at(std::ptrdiff_t offset, std::string problem, std::string help = {}) {
    const auto [line, column] = place(offset);
    in_.problems.add(in_.file, line, column, std::move(problem), std::move(help));
  }
  std::pair<int, int> place(std::ptrdiff_t offset) {
    const auto& text = in_.text();
    const auto end = std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, offset)), text.size());
    if (end < counted_) counted_ = 0, lines_ = 1, line_start_ = 0;
    for (; counted_ < end; ++counted_) {
      if (text[counted_] == '\n') ++lines_, line_start_ = counted_ + 1;
    }
    return {lines_, static_cast<int>(end - line_start_) + 1};
  }

  /// Packages and the NUMA domains with cores. Memory of GPUs is a NUMA node without cores.
  /// A NUMA node lies in a package; in version 1 it may also hold one.
  void cpus(const pugi::xml_node& object, bool inside, int depth) {
    if (depth > max_depth) return at(object.offset_debug(), "objects nested too deeply");
    const auto type = attribute(object, "type");
    if (type == "Package" || type == "Socket") {
      ++packages_;
      inside = true;
      if (m_.cpu_name.empty()) {
        m_.cpu_vendor = info(object, "CPUVendor");
        m_.cpu_name = info(object, "CPUModel");
        if (const auto n = integer(info(object, "CPUFamilyNumber"))) m_.cpu_family = static_cast<int>(*n);
        if (const auto n = integer(info(object, "CPUModelNumber"))) m_.cpu_model = static_cast<int>(*n);
      }
    }
    if (type == "NUMANode") {
      const auto cpuset = attribute(object, "cpuset");
      const bool cores = cpuset.empty() || cpuset.find_first_of("123456789abcdef") != std::string_view::npos;
      if (cores && attribute(object, "subtype").find("GPU") == std::string_view::npos) {
        const auto index = integer(attribute(object, "os_index")).value_or(static_cast<long>(m_.domains.size()));
        if (m_.domains.size() == max_domains || index < 0 || index > 1023)
          return at(object.offset_debug(),
                    fmt::format("more NUMA domains than a machine has (at most {}, ids to 1023)", max_domains));
        domain_of_[object.internal_object()] = static_cast<int>(m_.domains.size());
        m_.domains.push_back({static_cast<int>(index), inside ? packages_ - 1 : packages_});
      }
    }
    if (type == "Bridge" || type == "PCIDev") return;
    for (const auto& child : object.children("object")) cpus(child, inside, depth + 1);
  }

  /// Host bridges, each with the domain of the nearest object around it that has one.
  void places(const pugi::xml_node& object, int domain, int depth) {
    if (depth > max_depth) return;
    const auto type = attribute(object, "type");
    if (type == "Bridge" || type == "PCIDev") {
      if (domain < 0 && m_.domains.size() > 1) m_.placed = false;
      HwlocRoot root;
      root.domain = std::max(0, domain);
      if (type == "PCIDev") {
        device(object, root.tree);
      } else if (attribute(object, "bridge_type").substr(0, 1) == "0") {
        for (const auto& child : object.children("object")) {
          if (attribute(child, "type") == "Bridge") {
            port(child, root.tree, depth + 1);
          } else if (attribute(child, "type") == "PCIDev") {
            device(child, root.tree);
          }
        }
      } else {
        port(object, root.tree, depth + 1);
      }
      if (!empty(root.tree)) m_.roots.push_back(std::move(root));
      return;
    }
    const auto own = domain_of_.find(object.internal_object());
    if (own != domain_of_.end()) domain = own->second;  // version 1: a NUMA node holds its cores and devices
    for (const auto& child : object.children("object")) {
      const auto below = domain_of_.find(child.internal_object());
      if (attribute(child, "type") == "NUMANode" && below != domain_of_.end() && type != "Machine") {
        domain = below->second;  // version 2: memory beside the cores
        break;
      }
    }
    for (const auto& child : object.children("object")) places(child, domain, depth + 1);
  }

  static bool empty(const HwlocTree& t) { return t.devices.empty() && t.below.empty(); }

  /// A root port, or a port of a switch that leads down: below are devices, or the upper side of a switch.
  void port(const pugi::xml_node& bridge, HwlocTree& into, int depth) {
    if (depth > max_depth) return at(bridge.offset_debug(), "objects nested too deeply");
    for (const auto& child : bridge.children("object")) {
      const auto type = attribute(child, "type");
      if (type == "PCIDev") device(child, into);
      if (type != "Bridge") continue;
      HwlocTree chip;
      chip.chip = true;
      chip.speed = speed(child);
      const auto ids = pci_type(attribute(child, "pci_type"));
      chip.vendor = static_cast<int>(ids.vendor);
      chip.device = static_cast<int>(ids.device);
      for (const auto& down : child.children("object")) {
        if (attribute(down, "type") == "Bridge") port(down, chip, depth + 2);
        if (attribute(down, "type") == "PCIDev") device(down, chip);
      }
      if (!empty(chip)) into.below.push_back(std::move(chip));
    }
  }

  static double speed(const pugi::xml_node& object) {
    const double s = object.attribute("pci_link_speed").as_double(0);
    return s > 0 && s < 1000 ? s : 0;
  }

  void device(const pugi::xml_node& object, HwlocTree& into) {
    const auto ids = pci_type(attribute(object, "pci_type"));
    constexpr long nvidia = 0x10de;
    const long kind = ids.pci_class >> 8;
    const auto gp = attribute(object, "gp_index");
    if (attribute(object, "subtype") == "NVSwitch" ||
        (kind == 0x06 && ids.vendor == nvidia && ids.pci_class == 0x0680)) {
      if (!gp.empty()) switch_of_["PCIDev:" + std::string{gp}] = m_.switches;
      ++m_.switches;
      return;
    }
    HwlocDevice d;
    d.gpu = kind == 0x03 && ids.vendor == nvidia;
    if (kind == 0x03 && (ids.vendor == 0x1002 || ids.vendor == 0x8086)) ++m_.other_gpus;
    bool rdma = ids.pci_class == 0x0207, network = kind == 0x02;
    std::vector<std::string> names;  // of this device in bandwidth matrices
    if (!gp.empty()) names.push_back("PCIDev:" + std::string{gp});
    for (const auto& os : object.children("object")) {
      if (attribute(os, "type") != "OSDev") continue;
      const auto name = attribute(os, "name");
      const auto type = integer(attribute(os, "osdev_type")).value_or(-1);
      const bool fabric = bitmask_ ? type >= 0 && (type & 32) != 0 : type == 3;
      if (network && (fabric || (type != 2 && rdma_name(name)))) {
        rdma = true;
        d.name = quoted(name);
      }
      if (const auto model = info(os, "GPUModel"); !model.empty()) d.product = model;
      // CUDA's order is what programs see; NVML's is by bus id, as the order of OpenCL.
      if (const auto n = number_at_end(name, "cuda")) d.order = *n;
      if (const auto n = number_at_end(name, "nvml"); n && d.order < 0) d.order = *n;
      if (!attribute(os, "gp_index").empty()) names.push_back("OSDev:" + std::string{attribute(os, "gp_index")});
    }
    if (!d.gpu && !rdma) {
      m_.ethernet += network ? 1 : 0;
      return;
    }
    d.bus_id = quoted(attribute(object, "pci_busid"));
    d.vendor = static_cast<int>(ids.vendor);
    d.device = static_cast<int>(ids.device);
    d.speed = speed(object);
    std::tie(d.line, d.column) = place(object.offset_debug());
    if (!d.bus_id.empty() && !bus_ids_.insert(d.bus_id).second)
      return at(object.offset_debug(), fmt::format("two devices at {}", d.bus_id), "a bus id names one device");
    if (m_.devices.size() == max_devices_here)
      return at(object.offset_debug(), fmt::format("more than {} GPUs and NICs", max_devices_here));
    const auto index = static_cast<int>(m_.devices.size());
    for (auto& n : names) index_of_[std::move(n)] = index;
    into.devices.push_back(index);
    m_.gpus += d.gpu ? 1 : 0;
    m_.devices.push_back(std::move(d));
  }

  /// GPUs first, in CUDA's order; NICs by name. Indices in the trees follow.
  void order() {
    std::vector<int> sorted;
    for (int i = 0; i < static_cast<int>(m_.devices.size()); ++i) sorted.push_back(i);
    const auto device = [&](int i) -> const HwlocDevice& { return m_.devices[static_cast<std::size_t>(i)]; };
    const bool numbered = std::ranges::all_of(m_.devices, [](const auto& d) { return !d.gpu || d.order >= 0; });
    std::ranges::stable_sort(sorted, [&](int a, int b) {
      const auto &x = device(a), &y = device(b);
      if (x.gpu != y.gpu) return x.gpu;
      if (x.gpu) return numbered ? x.order < y.order : x.bus_id < y.bus_id;
      if (x.name != y.name) return natural_less(x.name, y.name);
      return x.bus_id < y.bus_id;
    });
    std::vector<int> where(sorted.size());
    std::vector<HwlocDevice> devices;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      where[static_cast<std::size_t>(sorted[i])] = static_cast<int>(i);
      devices.push_back(device(sorted[i]));
    }
    m_.devices = std::move(devices);
    for (auto& [name, i] : index_of_) i = where[static_cast<std::size_t>(i)];
    const auto renumber = [&](HwlocTree& t, const auto& self) -> void {
      for (auto& d : t.devices) d = where[static_cast<std::size_t>(d)];
      std::ranges::sort(t.devices);
      for (auto& b : t.below) self(b, self);
    };
    for (auto& r : m_.roots) renumber(r.tree, renumber);
  }

  static std::vector<std::string> words(const pugi::xml_node& distances, const char* child) {
    std::vector<std::string> out;
    for (const auto& part : distances.children(child)) {
      std::string_view text = part.text().get();
      while (!text.empty() && out.size() <= max_matrix * max_matrix) {
        const auto first = text.find_first_not_of(" \t\r\n");
        if (first == std::string_view::npos) break;
        text.remove_prefix(first);
        const auto end = std::min(text.find_first_of(" \t\r\n"), text.size());
        out.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
      }
    }
    return out;
  }

  void bandwidths(const pugi::xml_node& distances) {
    if (attribute(distances, "name") != "NVLinkBandwidth") return;
    auto names = words(distances, "indexes");
    const auto values = words(distances, "u64values");
    const auto n = names.size();
    const auto where = distances.offset_debug();
    m_.bandwidths_line = place(where).first;
    if (n > max_matrix) return at(where, fmt::format("NVLink bandwidths of more than {} objects", max_matrix));
    if (values.size() != n * n)
      return at(where, fmt::format("{} NVLink bandwidths for {} objects, not {}", values.size(), n, n * n),
                "is the file cut off?");
    // All of one type: "distances2" says it once.
    if (const auto type = attribute(distances, "type"); !type.empty()) {
      for (auto& name : names) name = std::string{type} + ":" + name;
    }
    const auto gpus = static_cast<std::size_t>(m_.gpus);
    m_.has_bandwidths = true;
    m_.pairs.assign(gpus, std::vector<double>(gpus, 0));
    m_.to_switch.assign(gpus, std::vector<double>(static_cast<std::size_t>(m_.switches), 0));
    for (std::size_t i = 0; i < n; ++i) {
      const auto from = index_of_.find(names[i]);
      for (std::size_t j = 0; j < n; ++j) {
        const auto value = integer(values[i * n + j]), back = integer(values[j * n + i]);
        if (!value || *value < 0) return at(where, fmt::format("'{}' is no bandwidth", quoted(values[i * n + j])));
        if (value != back)
          return at(where,
                    fmt::format("NVLink bandwidth from {} to {} is {}, and {} back", quoted(names[i]), quoted(names[j]),
                                quoted(values[i * n + j]), quoted(values[j * n + i])),
                    "a link has the same rate both ways");
        if (i == j || *value == 0 || from == index_of_.end() || from->second >= m_.gpus) continue;
        const auto gpu = static_cast<std::size_t>(from->second);
        const auto to = index_of_.find(names[j]);
        const auto chip = switch_of_.find(names[j]);
        if (to != index_of_.end() && to->second < m_.gpus) {
          m_.pairs[gpu][static_cast<std::size_t>(to->second)] = static_cast<double>(*value);
        } else if (chip != switch_of_.end()) {
          m_.to_switch[gpu][static_cast<std::size_t>(chip->second)] = static_cast<double>(*value);
        } else {
          m_.to_cpus = std::max(m_.to_cpus, static_cast<double>(*value));
        }
      }
    }
  }

  const ImportInput& in_;
  pugi::xml_document document_;
  HwlocMachine m_;
  bool bitmask_ = false;  // version 3: osdev_type is a set
  int packages_ = 0;
  std::map<const void*, int> domain_of_;  // NUMANode object -> index
  std::map<std::string, int> index_of_;   // "OSDev:802" -> device
  std::map<std::string, int> switch_of_;
  std::set<std::string> bus_ids_;
  std::size_t counted_ = 0, line_start_ = 0;
  int lines_ = 1;
};

}  // namespace

HwlocMachine read_hwloc(const ImportInput& in) { return HwlocReader{in}.run(); }

}  // namespace linkcast::topologies
