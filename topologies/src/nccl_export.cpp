// See nccl_export.hpp. The order of elements is that of nccl_view.cpp, by which the search breaks ties.
#include "linkcast/topologies/nccl_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "fabric_data.hpp"

namespace linkcast::topologies {
namespace {

std::string escaped(std::string_view s) {
  std::string out;
  for (const char c : s) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '-' && out.ends_with('-'))
      out += " -";  // no end of a comment
    else
      out += c;
  }
  return out;
}

std::string attribute(const Device& d, const std::string& key, std::string_view otherwise = {}) {
  const auto it = d.attributes.find(key);
  return it == d.attributes.end() || it->second.empty() ? std::string{otherwise} : it->second;
}

class Writer {
 public:
  explicit Writer(const Fabric& fabric) : fabric_{fabric}, data_{fabric.data()} {
    const auto n = data_.devices.size();
    rank_.assign(n, -1);
    for (std::size_t r = 0; r < data_.gpus.size(); ++r)
      rank_[static_cast<std::size_t>(data_.gpus[r])] = static_cast<int>(r);
    below_.resize(n);
    for (std::size_t i = 0; i < data_.links.size(); ++i) {
      if (data_.links[i].kind == models::LinkKind::pcie && usable(i))
        below_[static_cast<std::size_t>(data_.links[i].a)].push_back(i);
    }
    for (const auto& d : data_.devices) {
      hosts_ = std::max(hosts_, d.node + 1);
      const auto [at, fresh] = first_.try_emplace({d.node, d.kind}, d.index);
      if (!fresh) at->second = std::min(at->second, d.index);
    }
    addresses();
  }

  std::string run() {
    out_ = fmt::format("<!-- {}{}, written by Linkcast. -->\n", escaped(data_.name),
                       data_.title.empty() ? "" : ": " + escaped(data_.title));
    out_ += "<system version=\"1\">\n";
    for (std::size_t d = 0; d < data_.devices.size(); ++d)
      if (data_.devices[d].kind == DeviceKind::cpu && used(d)) cpu(d);
    return out_ + "</system>\n";
  }

 private:
  bool usable(std::size_t link) const { return data_.usable(LinkId{static_cast<std::uint32_t>(link)}); }

  /// NCCL drops what no rank uses.
  bool used(std::size_t d) const {
    const auto kind = data_.devices[d].kind;
    if (kind == DeviceKind::gpu) return rank_[d] >= 0;
    if (kind == DeviceKind::nic) return true;
    return std::ranges::any_of(below_[d],
                               [&](std::size_t l) { return used(static_cast<std::size_t>(data_.links[l].b)); });
  }

  int local_index(const Device& d) const { return d.index - first_.at({d.node, d.kind}); }

  /// One for each device that stands on PCI, or is the far end of NVLinks; unique within a host.
  void addresses() {
    std::vector<std::set<std::string>> taken(static_cast<std::size_t>(hosts_));
    bus_.resize(data_.devices.size());
    for (std::size_t d = 0; d < data_.devices.size(); ++d) {
      const auto& device = data_.devices[d];
      const auto known = attribute(device, "busid");
      if (!known.empty() && taken[static_cast<std::size_t>(device.node)].insert(known).second) bus_[d] = known;
    }
    std::vector<int> next(static_cast<std::size_t>(hosts_), 0x10);
    for (std::size_t d = 0; d < data_.devices.size(); ++d) {
      const auto kind = data_.devices[d].kind;
      if (kind == DeviceKind::cpu || kind == DeviceKind::memory) continue;
      const auto host = static_cast<std::size_t>(data_.devices[d].node);
      while (bus_[d].empty()) {
        const int n = next[host]++;
        auto id = fmt::format("{:04x}:{:02x}:00.0", n >> 8, n & 0xff);
        if (taken[host].insert(id).second) bus_[d] = std::move(id);
      }
    }
  }

  void cpu(std::size_t d) {
    const auto& device = data_.devices[d];
    const auto arch = attribute(device, "arch", "x86_64");
    out_ += "  <cpu";
    if (hosts_ > 1) out_ += fmt::format(" host_hash=\"{:#x}\"", device.node);
    out_ += fmt::format(" numaid=\"{}\" arch=\"{}\"", device.numa, escaped(arch));
    if (arch == "x86_64") {
      out_ += fmt::format(" vendor=\"{}\" familyid=\"{}\" modelid=\"{}\"", escaped(attribute(device, "vendor")),
                          attribute(device, "family", "0"), attribute(device, "model", "0"));
    }
    out_ += ">\n";
    children(d, "    ");
    out_ += "  </cpu>\n";
  }

  void children(std::size_t parent, const std::string& indent) {
    for (const auto i : below_[parent]) {
      const auto& link = data_.links[i];
      const auto d = static_cast<std::size_t>(link.b);
      if (!used(d)) continue;
      out_ += indent + pci(d, link, data_.link_extra[i].generation) + ">\n";
      switch (data_.devices[d].kind) {
        case DeviceKind::gpu:
          gpu(d, indent + "  ");
          break;
        case DeviceKind::nic:
          nic(d, indent + "  ");
          break;
        default:
          children(d, indent + "  ");
      }
      out_ += indent + "</pci>\n";
    }
  }

  std::string pci(std::size_t d, const Link& link, int generation) const {
    static constexpr std::array gigatransfers{"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
    const auto& device = data_.devices[d];
    const bool gpu = device.kind == DeviceKind::gpu, nic = device.kind == DeviceKind::nic;
    const auto vendor = gpu ? "0x10de" : attribute(device, "pci_vendor", "0x0000");
    return fmt::format(
        "<pci busid=\"{}\" class=\"{}\" vendor=\"{}\" device=\"{}\" subsystem_vendor=\"{}\" "
        "subsystem_device=\"0x0000\" link_speed=\"{} GT/s PCIe\" link_width=\"{}\"",
        escaped(bus_[d]),
        gpu   ? "0x030200"
        : nic ? attribute(device, "pci_class", "0x020000")
              : "0x060400",
        escaped(vendor), escaped(attribute(device, "pci_device", "0x0000")), escaped(vendor),
        gigatransfers[static_cast<std::size_t>(std::clamp(generation, 1, 6) - 1)], link.width);
  }

  void gpu(std::size_t d, const std::string& indent) {
    const auto& device = data_.devices[d];
    out_ += fmt::format("{}<gpu dev=\"{}\" sm=\"{}\" rank=\"{}\" gdr=\"{}\">\n", indent, local_index(device),
                        fabric_.gpu_model(DeviceId{static_cast<std::uint32_t>(d)}).compute_capability, rank_[d],
                        attribute(device, "gdr", "1"));
    nvlinks(d, indent + "  ");
    out_ += indent + "</gpu>\n";
  }

  void nvlinks(std::size_t gpu, const std::string& indent) {
    const auto write = [&](std::string_view target, int count, std::string_view tclass) {
      out_ += fmt::format("{}<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>\n", indent, target, count, tclass);
    };
    int of_domain = 0;  // the switches of a domain of several hosts are nobody's PCI devices
    for (std::size_t i = 0; i < data_.links.size(); ++i) {
      const auto& l = data_.links[i];
      const auto a = static_cast<std::size_t>(l.a), b = static_cast<std::size_t>(l.b);
      if ((a != gpu && b != gpu) || !usable(i)) continue;
      const auto other = a == gpu ? b : a;
      if (l.kind == models::LinkKind::c2c) {
        // The driver gives links of 44.712 GB/s.
        const int count = std::max(1, static_cast<int>(std::lround(l.bare.GBps() / 44.712)));
        c2c_ += fmt::format("{}<c2c bw=\"{:.0f}\" count=\"{}\"/>\n", indent, l.bare.GBps() * 1000 / count, count);
      }
      if (l.kind != models::LinkKind::nvlink) continue;
      if (data_.devices[other].kind == DeviceKind::gpu) {
        if (rank_[other] >= 0) write(bus_[other], l.width, "0x030200");
      } else if (hosts_ > 1) {
        of_domain += l.width;
      } else {
        write(bus_[other], l.width, "0x068000");
      }
    }
    if (of_domain > 0) write("fffffff:ffff:ff", of_domain, "0x068000");
    out_ += c2c_;
    c2c_.clear();
  }

  /// A card's ports are one device to NCCL, which fuses them.
  void nic(std::size_t d, const std::string& indent) {
    const auto& device = data_.devices[d];
    const int local = local_index(device);
    const double gbps = std::strtod(attribute(device, "gbps", "0").c_str(), nullptr);
    out_ += fmt::format(
        "{}<nic>\n{}  <net name=\"{}\" dev=\"{}\" latency=\"0.000000\" speed=\"{:.0f}\" port=\"1\" guid=\"{:#x}\" "
        "maxconn=\"131072\" gdr=\"{}\" coll=\"0\" net=\"1\"/>\n{}</nic>\n",
        indent, indent, escaped(attribute(device, "name", fmt::format("nic{}", local))), local, gbps * 1000,
        (device.node * 64 + local + 1) << 8, attribute(device, "gdr", "1"), indent);
  }

  const Fabric& fabric_;
  const Fabric::Data& data_;
  std::vector<int> rank_;
  std::vector<std::vector<std::size_t>> below_;
  std::map<std::pair<int, DeviceKind>, int> first_;  // least index of a kind in a host
  std::vector<std::string> bus_;
  int hosts_ = 1;
  std::string out_, c2c_;
};

}  // namespace

std::string to_nccl_xml(const Fabric& fabric) { return Writer{fabric}.run(); }

}  // namespace linkcast::topologies
