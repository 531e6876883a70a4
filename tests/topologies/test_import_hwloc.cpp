// hwloc XML: real machines by what is known of them, one machine written out here for each rule, and what is refused.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/describe.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "linkcast/topologies/import.hpp"

using namespace linkcast;
using topologies::ImportOptions;

namespace {

std::string data(const std::string& name) {
  std::ifstream file{std::string{LINKCAST_SOURCE_DIR} + "/tests/data/import/" + name, std::ios::binary};
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

topologies::Imported import(const std::string& text, const ImportOptions& options = {}) {
  const std::vector<topologies::InputFile> files{{"machine.xml", text}};
  return topologies::import_topology(files, options);
}

topologies::Fabric loaded(const std::string& yaml) {
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-hwloc-" + std::to_string(getpid()) + ".yaml");
  std::ofstream{path} << yaml;
  auto fabric = topologies::load(path.string());
  std::filesystem::remove(path);
  return fabric;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

sim::Diagnostic problem(const std::string& text, const ImportOptions& options = {}) {
  try {
    import(text, options);
  } catch (const sim::InputError& e) {
    return e.diagnostics().front();
  }
  FAIL("accepted");
  return {};
}

bool says(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const auto& l) { return l.find(part) != std::string::npos; });
}

bool has(const topologies::Imported& i, const std::string& text) { return i.yaml.find(text) != std::string::npos; }

/// Two H100 with a ConnectX-7 each, every pair behind a switch of its own on one socket of two; hwloc 2.
std::string two_h100(const std::string& distances = "") {
  const auto pair = [](int bus, int n) {
    const auto b = [&](int k) { return "0000:" + std::to_string(bus + k) + ":00.0"; };
    const auto s = std::to_string(n);
    return "<object type=\"Bridge\" bridge_type=\"0-1\">"
           "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"" +
           b(0) +
           "\" pci_type=\"0604 [8086:352a]\" pci_link_speed=\"63.015385\">"
           "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"" +
           b(1) +
           "\" pci_type=\"0604 [1000:c030]\" pci_link_speed=\"63.015385\">"
           "<object type=\"Bridge\" bridge_type=\"1-1\" pci_type=\"0604 [1000:c030]\" pci_link_speed=\"63.015385\">\n"
           "<object type=\"PCIDev\" gp_index=\"10" +
           s + "\" pci_busid=\"" + b(2) +
           "\" pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"63.015385\">"
           "<object type=\"OSDev\" gp_index=\"20" +
           s + "\" name=\"cuda" + s +
           "\" osdev_type=\"5\"/></object></object>"
           "<object type=\"Bridge\" bridge_type=\"1-1\" pci_type=\"0604 [1000:c030]\" pci_link_speed=\"63.015385\">\n"
           "<object type=\"PCIDev\" pci_busid=\"" +
           b(3) +
           "\" pci_type=\"0207 [15b3:1021] [15b3:0041] 00\" pci_link_speed=\"63.015385\">"
           "<object type=\"OSDev\" name=\"mlx5_" +
           s +
           "\" osdev_type=\"3\"/></object></object>"
           "</object></object></object>\n";
  };
  const auto package = [&](int n) {
    return "<object type=\"Package\" os_index=\"" + std::to_string(n) +
           "\" cpuset=\"0xf\"><info name=\"CPUVendor\" value=\"GenuineIntel\"/>"
           "<info name=\"CPUFamilyNumber\" value=\"6\"/><info name=\"CPUModelNumber\" value=\"143\"/>"
           "<object type=\"NUMANode\" os_index=\"" +
           std::to_string(n) + "\" cpuset=\"0xf\"/>\n" + pair(10 * (n + 1), n) + "</object>\n";
  };
  return "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n<object type=\"Machine\">\n" + package(0) + package(1) +
         "</object>\n" + distances + "</topology>\n";
}

}  // namespace

TEST_CASE("hwloc of a DGX-2 is the catalog's dgx2-v100 without its NICs", "[topologies][import]") {
  const auto imported = import(data("hwloc-dgx2.xml"));
  const auto mine = loaded(imported.yaml);
  const auto theirs = topologies::load("dgx2-v100");
  const auto is = [](const topologies::Fabric& f, topologies::DeviceKind k) {
    return std::ranges::count(f.devices(), k, &topologies::Device::kind);
  };
  for (const auto k : {topologies::DeviceKind::gpu, topologies::DeviceKind::nvswitch,
                       topologies::DeviceKind::pcie_switch, topologies::DeviceKind::cpu})
    CHECK(is(mine, k) == is(theirs, k));
  // The file was written without network cards.
  CHECK(is(mine, topologies::DeviceKind::nic) == 0);
  const auto a = topologies::describe(mine), b = topologies::describe(theirs);
  CHECK(a.wiring == b.wiring);
  CHECK(a.bisection == b.bisection);
  CHECK(a.nvlink_bare == b.nvlink_bare);
  CHECK(a.pcie_bare == b.pcie_bare);
  REQUIRE(a.routes.size() == b.routes.size());
  for (std::size_t i = 0; i < a.routes.size(); ++i) {
    CHECK(a.routes[i].pairs == b.routes[i].pairs);
    CHECK(a.routes[i].hops == b.routes[i].hops);
    CHECK(a.routes[i].payload == b.routes[i].payload);
    CHECK(a.routes[i].latency == b.routes[i].latency);
  }
  CHECK(says(imported.known, "12 NVSwitches, 1-1-1-1-1-1 links"));
  CHECK(says(imported.known, "CPUs: xeon-skl"));  // family 6, model 85
  // hwloc does not see the links between switches.
  CHECK(says(imported.assumed, "8 NVLinks between switches of the two boards"));
}

TEST_CASE("hwloc of an AWS p5: virtual bridges, 32 EFA", "[topologies][import]") {
  const auto imported = import(data("hwloc-aws-p5.xml.gz"));
  const auto fabric = loaded(imported.yaml);
  CHECK(fabric.gpus().size() == 8);
  CHECK(std::ranges::count(fabric.devices(), topologies::DeviceKind::nic, &topologies::Device::kind) == 32);
  // grep -c 'pci_type="0200 \[1d0f:ec20' is 32: Elastic Network Adapters, which NCCL does not use for RDMA.
  CHECK(says(imported.unknown, "32 Ethernet adapters without RDMA"));
  CHECK(says(imported.known, "NICs: efa-v2"));
  CHECK(says(imported.assumed, "virtual bridges (1d0f:0200, 15.7538 GB/s in the file)"));
  // Each switch has a GPU at 63 GB/s and four EFA at 15.75.
  CHECK(
      has(imported,
          "        link: pcie-gen5\n        gpus: 0\n        switches:\n          - {link: pcie-gen3, nics: [0-3]}\n"));
  const auto d = topologies::describe(fabric);
  CHECK(d.pcie_bare.GBps() == Approx(63.0).epsilon(0.001));
}

TEST_CASE("hwloc of a POWER8: P100 are not in the catalog, another GPU can be named", "[topologies][import]") {
  const auto text = data("hwloc-power8.xml");
  const auto p = problem(text);
  CHECK(p.at.line == 37);
  CHECK(p.problem == "GPUs 'Tesla P100-SXM2-16GB' are not in the catalog");
  ImportOptions o;
  o.gpu = "v100-sxm2";
  const auto imported = import(text, o);
  // 40 GB/s between the GPUs of a socket: nearest to two links of 25.
  CHECK(has(imported, "    mesh:\n      0: {1: 2}\n      2: {3: 2}\n"));
  // The root ports give 7.88 GB/s, the GPUs' own ends 15.75: the file's number of the GPU counts.
  CHECK(has(imported, "link: pcie-gen3\n    lanes: 16"));
  CHECK(says(imported.unknown, "NVLinks between GPUs and CPUs"));
}

TEST_CASE("hwloc: switches, ids and speeds", "[topologies][import]") {
  const auto imported = import(two_h100());
  CHECK(has(imported, "cpus: {model: xeon-spr, count: 2, link: upi-spr}"));  // model 143
  CHECK(has(imported, "gpus: {model: h100-sxm, count: 2}"));                 // 10de:2330
  CHECK(has(imported, "nics: {model: connectx-7, count: 2}"));               // 15b3:1021
  CHECK(has(imported,
            "      - {cpu: 0, switch: pex89144, gpus: 0, nics: 0}\n"
            "      - {cpu: 1, switch: pex89144, gpus: 1, nics: 1}\n"));
  CHECK(says(imported.assumed, "every NIC runs at the 400 Gb/s of connectx-7"));
  SECTION("CUDA's numbers are the ranks, also where they are not in the order of the bus") {
    auto text = replaced(two_h100(), "\"cuda0\"", "\"cudaX\"");
    text = replaced(replaced(text, "\"cuda1\"", "\"cuda0\""), "\"cudaX\"", "\"cuda1\"");
    CHECK(has(import(text), "      - {cpu: 0, switch: pex89144, gpus: 1, nics: 0}\n"));
  }
  SECTION("a link at half its lanes") {
    // 31.5077 GB/s is x16 of gen 4 or x8 of gen 5; the same rate in any case.
    auto text = two_h100();
    const std::string gpu = "a1\" pci_link_speed=\"63.015385\"";
    text.replace(text.find(gpu), gpu.size(), "a1\" pci_link_speed=\"31.507692\"");
    CHECK(has(import(text), "        nics: 0\n        switches:\n          - {link: pcie-gen4, gpus: 0}\n"));
  }
  SECTION("a GPU at rest") {
    // 2.5 GT/s, 8b/10b, 16 lanes: 4 GB/s. No H100 works like that.
    const auto text = replaced(two_h100(), "a1\" pci_link_speed=\"63.015385\"", "a1\" pci_link_speed=\"4.000000\"");
    const auto rest = import(text);
    CHECK(has(rest, "{cpu: 0, switch: pex89144, gpus: 0, nics: 0}"));
    CHECK(says(rest.assumed, "at rest they read 4 GB/s"));
  }
  SECTION("version 3 writes kinds of devices as sets") {
    auto text = replaced(two_h100(), "version=\"2.0\"", "version=\"3.0\"");
    text = replaced(text, "0207 [15b3", "0200 [15b3");  // RoCE: Ethernet by its class, RDMA by its device
    CHECK(has(import(replaced(text, "osdev_type=\"3\"", "osdev_type=\"32\"")), "nics: {model: connectx-7, count: 2}"));
  }
  SECTION("version 1: sockets, and NUMA nodes around cores and devices") {
    auto text = replaced(two_h100(), " version=\"2.0\"", "");
    for (const std::string n : {"0", "1"}) {
      text = replaced(text, "<object type=\"NUMANode\" os_index=\"" + n + "\" cpuset=\"0xf\"/>", "");
      text = replaced(text, "<object type=\"Package\" os_index=\"" + n + "\" cpuset=\"0xf\">",
                      "<object type=\"NUMANode\" os_index=\"" + n +
                          "\" cpuset=\"0xf\"><object type=\"Socket\" os_index=\"" + n + "\"/>");
    }
    CHECK(has(import(text), "count: 2, link: upi-spr}"));  // two sockets
    CHECK(has(import(text), "      - {cpu: 1, switch: pex89144, gpus: 1, nics: 1}\n"));
  }
}

TEST_CASE("hwloc: NVLink bandwidths", "[topologies][import]") {
  const auto matrix = [](const std::string& values) {
    return two_h100(
        "<distances2 type=\"OSDev\" nbobjs=\"2\" name=\"NVLinkBandwidth\" indexing=\"gp\">"
        "<indexes length=\"8\">200 201 </indexes><u64values length=\"8\">" +
        values + "</u64values></distances2>\n");
  };
  // 6 links of 25 GB/s.
  CHECK(has(import(matrix("1000000 150000 150000 1000000 ")), "mesh: {all: 6}"));
  // All 18 between two GPUs: the wiring through the switches of such a machine.
  CHECK(has(import(matrix("1000000 450000 450000 1000000 ")),
            "switches: {model: nvswitch3, count: 4, links: [4, 5, 5, 4]}"));
  SECTION("not symmetric") {
    const auto p = problem(matrix("0 150000 100000 0 "));
    CHECK(p.problem == "NVLink bandwidth from OSDev:200 to OSDev:201 is 150000, and 100000 back");
    CHECK(p.at.line > 1);
  }
  CHECK(problem(matrix("0 150000 150000")).problem == "3 NVLink bandwidths for 2 objects, not 4");
  CHECK(problem(matrix("0 many many 0")).problem == "'many' is no bandwidth");
  CHECK(problem(matrix("0 475000 475000 0")).problem.find("19 NVLinks") != std::string::npos);
}

TEST_CASE("hwloc: what is refused, with its place", "[topologies][import]") {
  const auto good = two_h100();
  SECTION("cut off") {
    const auto p = problem(good.substr(0, good.size() / 2));
    CHECK(p.problem.find("XML: ") == 0);
    CHECK(p.at.line > 3);
    CHECK(p.help == "is the file cut off?");
  }
  SECTION("without GPUs") {
    const auto p = problem(replaced(good, "10de:2330", "1002:74a1"));
    CHECK(p.problem == "no NVIDIA GPU among the PCI devices");
    CHECK(p.help == "GPUs of other makers are not modelled");
  }
  SECTION("GPUs of two kinds") {
    auto text = good;
    text.replace(text.rfind("10de:2330"), 9, "10de:2335");
    CHECK(problem(text).problem == "GPU 2335, but the first is 2330");
  }
  SECTION("two devices in one place") {
    CHECK(problem(replaced(good, "0000:22:00.0", "0000:12:00.0")).problem == "two devices at 0000:12:00.0");
  }
  SECTION("a NIC that the catalog does not know") {
    const auto text = replaced(good, "15b3:1021", "15b3:dead");
    const auto p = problem(text);
    CHECK(p.problem == "the catalog has no NIC 15b3:dead");
    CHECK(p.at.line > 3);
    ImportOptions o;
    o.nic = "connectx-6";
    CHECK(has(import(text, o), "nics: {model: connectx-6, count: 2}"));
  }
  SECTION("nested without end") {
    std::string text = "<topology version=\"2.0\"><object type=\"Machine\">";
    for (int i = 0; i < 200; ++i) text += "<object type=\"Bridge\" bridge_type=\"1-1\">";
    for (int i = 0; i < 201; ++i) text += "</object>";
    CHECK_THROWS_AS(import(text + "</topology>"), sim::InputError);
  }
  CHECK(problem("<topology/>").problem == "the topology has no object");
}
