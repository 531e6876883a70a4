// nvidia-smi topo -m: matrices of real machines become the catalog's machines; pasted, wrapped and cut ones become the
// same; contradictions are found where they stand.
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
  const std::vector<topologies::InputFile> files{{"topo.txt", text}};
  return topologies::import_topology(files, options);
}

ImportOptions with_gpu(const std::string& gpu) {
  ImportOptions o;
  o.gpu = gpu;
  return o;
}

topologies::Fabric loaded(const std::string& yaml) {
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-import-" + std::to_string(getpid()) + ".yaml");
  std::ofstream{path} << yaml;
  auto fabric = topologies::load(path.string());
  std::filesystem::remove(path);
  return fabric;
}

/// What `topo show` says, but for the names.
std::string shown(const topologies::Fabric& fabric) {
  auto d = topologies::describe(fabric);
  d.name = d.title = "";
  d.assumptions.clear();
  return topologies::to_text(d);
}

/// The machine's part of the file: what stands below `node:`.
std::string node_of(const std::string& yaml) { return yaml.substr(yaml.find("\nnode:")); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::vector<sim::Diagnostic> problems(const std::string& text, const ImportOptions& options = {}) {
  try {
    import(text, options);
  } catch (const sim::InputError& e) {
    return e.diagnostics();
  }
  FAIL("accepted:\n" << text);
  return {};
}

bool says(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const auto& l) { return l.find(part) != std::string::npos; });
}

const auto* const four_a100 =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV4\tNV4\tNV4\tPHB\t0-31\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tNV4\tNV4\tSYS\t32-63\t1\t\tN/A\n"
    "GPU2\tNV4\tNV4\t X \tNV4\tSYS\t64-95\t2\t\tN/A\n"
    "GPU3\tNV4\tNV4\tNV4\t X \tSYS\t96-127\t3\t\tN/A\n"
    "NIC0\tPHB\tSYS\tSYS\tSYS\t X \t\t\t\t\n";

}  // namespace

TEST_CASE("topo -m of a DGX-1 is the catalog's dgx1-v100", "[topologies][import]") {
  const auto imported = import(data("nvidia-smi-dgx1-v100.txt"));
  CHECK(imported.format == "nvidia-smi-topo");
  CHECK(shown(loaded(imported.yaml)) == shown(topologies::load("dgx1-v100")));
  // GPU 0 has one link to 1 and 2, two to 3 and 4: the first row of the file. NIC 1 of the machine is mlx5_1, the third
  // column, PIX from GPU 2 and 3.
  CHECK(imported.yaml.find("0: {1: 1, 2: 1, 3: 2, 4: 2}") != std::string::npos);
  CHECK(imported.yaml.find("{cpu: 0, switch: pex8796, gpus: [2, 3], nics: 1}") != std::string::npos);
  // The file does not name the GPUs: it must be said that they were guessed, and from what.
  CHECK(says(imported.assumed, "GPUs are v100-sxm2"));
  CHECK(says(imported.assumed, "every NIC is connectx-5 with 100 Gb/s"));
  CHECK(says(imported.assumed, "every PCIe link is pcie-gen3 x16"));
}

TEST_CASE("topo -m with colours, twelve NICs and PXB", "[topologies][import]") {
  const auto text = data("nvidia-smi-hgx-h100.txt");
  SECTION("NV18 is the wiring of several GPUs: they are asked for, at the header") {
    const auto p = problems(text);
    REQUIRE(p.size() == 1);
    CHECK(p[0].at.line == 1);
    CHECK(p[0].at.column == 6);  // a tab and ESC [ 4 m before GPU0
    CHECK(p[0].help.find("h100-sxm") != std::string::npos);
    CHECK(p[0].help.find("b200-sxm") != std::string::npos);
    CHECK(p[0].help.find("a100-sxm") == std::string::npos);
  }
  SECTION("with the name of the GPU") {
    const auto imported = import(text, with_gpu("h100-sxm"));
    const auto fabric = loaded(imported.yaml);
    const auto d = topologies::describe(fabric);
    CHECK(d.wiring == topologies::describe(topologies::load("dgx-h100")).wiring);
    CHECK(fabric.gpus().size() == 8);
    // Four groups of two GPUs and two NICs, all PXB among each other: a common switch and one for each device, 4 * 5.
    // NIC 8 and 9, 10 and 11 are PIX: a switch for each pair. 22 in all.
    CHECK(std::ranges::count(fabric.devices(), topologies::DeviceKind::pcie_switch, &topologies::Device::kind) == 22);
    CHECK(std::ranges::count(fabric.devices(), topologies::DeviceKind::nic, &topologies::Device::kind) == 12);
    // GPU 4's row: SYS to the first NICs, affinity 1.
    CHECK(fabric.devices()[static_cast<std::size_t>(fabric.gpus()[4])].numa == 1);
    CHECK(says(imported.unknown, "4 of 12 NICs are Ethernet"));
  }
  SECTION("nvidia-smi nvlink -s beside it names the GPU") {
    const std::vector<topologies::InputFile> files{{"topo.txt", text},
                                                   {"nvlink.txt", data("nvidia-smi-nvlink-h100.txt")}};
    const auto imported = topologies::import_topology(files);
    CHECK(imported.format == "nvidia-smi-topo + nvidia-smi-nvlink");
    CHECK(node_of(imported.yaml) == node_of(import(text, with_gpu("h100-sxm")).yaml));
    CHECK(says(imported.known, "GPUs: h100-sxm"));
  }
}

TEST_CASE("topo -m as people paste it is the same machine", "[topologies][import]") {
  const auto text = data("nvidia-smi-dgx1-v100.txt");
  const auto machine = node_of(import(text).yaml);
  SECTION("spaces for tabs, Windows line ends") {
    CHECK(node_of(import(replaced(replaced(text, "\t", "     "), "\n", "\r\n")).yaml) == machine);
  }
  SECTION("a prompt and other output above, a prompt below, in a Markdown fence") {
    const auto pasted =
        "Hi, here it is:\n```\n[root@n1 ~]# nvidia-smi topo -m\n" + text + "[root@n1 ~]# exit\n```\nThanks\n";
    CHECK(node_of(import(pasted).yaml) == machine);
  }
  SECTION("a Markdown table") {
    std::string table;
    std::istringstream lines{text.substr(0, text.find("\nLegend"))};
    for (std::string line; std::getline(lines, line);) table += "| " + replaced(line, "\t", " | ") + " |\n";
    CHECK(node_of(import(table).yaml) == machine);
  }
  SECTION("quoted in a mail") { CHECK(node_of(import("> " + replaced(text, "\n", "\n> ")).yaml) == machine); }
  SECTION("without the legend, the last rows and the affinities") {
    auto cut = text.substr(0, text.find("mlx5_0\tPIX"));
    cut = replaced(replaced(cut, "\t0-19,40-59", ""), "\t20-39,60-79", "");
    CHECK(node_of(import(cut).yaml) == machine);
  }
  SECTION("rows wrapped after ten cells") {
    std::string wrapped;
    std::istringstream lines{text.substr(0, text.find("\nLegend"))};
    for (std::string line; std::getline(lines, line);) {
      std::size_t at = 0;
      for (int tab = 0; tab < 10 && at != std::string::npos; ++tab) at = line.find('\t', at + 1);
      if (at != std::string::npos) line[at] = '\n';
      wrapped += line + "\n";
    }
    CHECK(node_of(import(wrapped).yaml) == machine);
  }
  SECTION("the header lost the tab before its last title") {
    CHECK(node_of(import(replaced(text, "mlx5_3\tCPU Affinity", "mlx5_3CPU Affinity")).yaml) == machine);
  }
  SECTION("no header: the rows' order is the columns'") {
    const auto imported = import(text.substr(text.find("\nGPU0") + 1));
    CHECK(node_of(imported.yaml) == machine);
    CHECK(says(imported.assumed, "header is missing"));
  }
  SECTION("what is in the lower half only") {
    // GPU 0's row from its sixth cell on is gone; columns of the other rows have it.
    const std::string row = "SYS\tSYS\tSYS\tPIX\tSYS\tPHB\tSYS\t0-19,40-59";
    auto cut = text;
    const auto at = cut.find(row);
    REQUIRE(at != std::string::npos);
    cut.erase(at, row.size());
    CHECK(node_of(import(cut).yaml) == machine);
  }
}

TEST_CASE("topo -m: what a matrix implies", "[topologies][import]") {
  SECTION("NV4 between four A100 is a mesh: 3 * 4 links are the 12 that the GPU has") {
    const auto imported = import(four_a100, with_gpu("a100-sxm"));
    CHECK(imported.yaml.find("mesh: {all: 4}") != std::string::npos);
    CHECK(imported.yaml.find("count: 4") != std::string::npos);
  }
  SECTION("NV12 between four A100 needs switches: 36 links are three times what the GPU has") {
    const auto imported = import(replaced(four_a100, "NV4", "NV12"), with_gpu("a100-sxm"));
    CHECK(imported.yaml.find("switches: {model: nvswitch2, count: 6, links: 2}") != std::string::npos);
  }
  SECTION("a GPU with fewer links has lost them") {
    auto text = replaced(four_a100, "NV4", "NV12");
    text = replaced(text, "GPU3\tNV12\tNV12\tNV12", "GPU3\tNV9\tNV9\tNV9");
    for (const char* row :
         {"GPU0\t X \tNV12\tNV12\tNV12", "GPU1\tNV12\t X \tNV12\tNV12", "GPU2\tNV12\tNV12\t X \tNV12"}) {
      std::string less = row;
      less.replace(less.rfind("NV12"), 4, "NV9");
      text = replaced(text, row, less);
    }
    const auto imported = import(text, with_gpu("a100-sxm"));
    // 3 of 12 are lost; the last switch has 2 links of a GPU, the one before gives the third.
    CHECK(imported.yaml.find("{link: \"gpu[3]-nvswitch[5]\", state: down}") != std::string::npos);
    CHECK(imported.yaml.find("{link: \"gpu[3]-nvswitch[4]\", width: 1}") != std::string::npos);
    CHECK(says(imported.assumed, "gpu[3] has lost 3 NVLinks"));
    const auto fabric = loaded(imported.yaml);
    CHECK(topologies::check(fabric).size() > 0);
  }
  SECTION("a line around it names the product") {
    const auto imported = import("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)\n" + std::string{four_a100});
    CHECK(says(imported.known, "NVIDIA A100-SXM4-80GB"));
    CHECK(imported.yaml.find("gpus: {model: a100-sxm, count: 4}") != std::string::npos);
  }
  SECTION("two cards without NVLink on two sockets, dual-port NICs") {
    ImportOptions o;
    o.machine = "pcie-a100";
    o.nic = "connectx-6";
    const auto imported = import(
        "\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tNIC3\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\t X \tSYS\tPHB\tPHB\tSYS\tSYS\t0-13\t0\n"
        "GPU1\tSYS\t X \tSYS\tSYS\tPHB\tPHB\t14-27\t1\n"
        "NIC0\tPHB\tSYS\t X \tPIX\tSYS\tSYS\n"
        "NIC1\tPHB\tSYS\tPIX\t X \tSYS\tSYS\n"
        "NIC2\tSYS\tPHB\tSYS\tSYS\t X \tPIX\n"
        "NIC3\tSYS\tPHB\tSYS\tSYS\tPIX\t X \n\nNIC Legend:\n\n"
        "  NIC0: rocep4s0f0\n  NIC1: rocep4s0f1\n  NIC2: rocep137s0f0\n  NIC3: rocep137s0f1\n",
        o);
    CHECK(imported.yaml.find("nics: {model: connectx-6, count: 4, fabric: roce}") != std::string::npos);
    CHECK(node_of(imported.yaml)
              .find("    trees:\n"
                    "      - {cpu: 0, gpus: 0}\n"
                    "      - {cpu: 0, switch: pex88096, nics: [0, 1]}\n"
                    "      - {cpu: 1, gpus: 1}\n"
                    "      - {cpu: 1, switch: pex88096, nics: [2, 3]}\n") != std::string::npos);
  }
}

TEST_CASE("topo -m: what cannot be is refused where it stands", "[topologies][import]") {
  const auto o = with_gpu("a100-sxm");
  const std::string good = four_a100;
  SECTION("a pair that differs from its mirror image") {
    const auto p = problems(replaced(good, "GPU1\tNV4", "GPU1\tNV2"), o);
    REQUIRE(p.size() == 1);
    CHECK(p[0].at.line == 3);
    CHECK(p[0].at.column == 6);
    CHECK(p[0].problem == "GPU1 to GPU0 is NV2, but GPU0 to GPU1 is NV4 (line 2)");
  }
  SECTION("paths that no tree has: NIC0 is PHB from GPU0 and from GPU1, which are SYS apart") {
    auto text = replaced(good, "GPU0\t X \tNV4", "GPU0\t X \tSYS");
    text = replaced(text, "GPU1\tNV4\t X \tNV4\tNV4\tSYS", "GPU1\tSYS\t X \tNV4\tNV4\tPHB");
    text = replaced(text, "NIC0\tPHB\tSYS", "NIC0\tPHB\tPHB");
    const auto p = problems(text, o);
    REQUIRE(p.size() == 1);
    CHECK(p[0].at.line == 2);
    CHECK(p[0].problem.find("GPU0 and GPU1 are SYS") != std::string::npos);
    CHECK(p[0].help == "NIC0 is PHB from GPU0 and PHB from GPU1");
  }
  SECTION("more NVLinks than the GPU has") {
    const auto p = problems(replaced(good, "NV4", "NV18"), o);
    CHECK(p[0].at.line == 2);
    CHECK(p[0].problem == "gpu[0] has 18 NVLinks, the part a100-sxm has 12");
  }
  SECTION("a word that is no path") {
    const auto p = problems(replaced(good, "GPU2\tNV4\tNV4", "GPU2\tNV4\tNVX"), o);
    CHECK(p[0].at.line == 4);
    CHECK(p[0].at.column == 10);
    CHECK(p[0].problem == "'NVX' is no kind of path");
  }
  SECTION("X beside the diagonal") {
    const auto p = problems(replaced(good, "GPU1\tNV4\t X ", "GPU1\t X \tNV4"), o);
    CHECK(p[0].at.line == 3);
  }
  SECTION("cut off after the third row") {
    const auto p = problems(good.substr(0, good.find("GPU3\tNV4")), o);
    CHECK(p[0].problem == "the row of GPU3 is missing");
    CHECK(p[0].at.line == 4);
  }
  SECTION("rows twice, columns twice") {
    CHECK(problems(good + "GPU1\tNV4\t X \tNV4\tNV4\tSYS\n", o)[0].problem == "GPU1 has two rows");
    CHECK(problems(replaced(good, "GPU2\tGPU3\tNIC0", "GPU2\tGPU2\tNIC0"), o)[0].problem == "GPU2 has two columns");
  }
  SECTION("a header and nothing else") {
    CHECK(problems(good.substr(0, good.find('\n') + 1), o)[0].problem.find("no row") != std::string::npos);
  }
  SECTION("wrong options") {
    ImportOptions wrong;
    wrong.gpu = "h100-sxn";
    CHECK(problems(good, wrong)[0].help == "did you mean 'h100-sxm'?");
  }
}

TEST_CASE("the format of a text is what stands in it", "[topologies][import]") {
  using topologies::detect_format;
  using topologies::ImportFormat;
  CHECK(detect_format(four_a100, "a.xml") == ImportFormat::nvidia_smi_topo);
  CHECK(detect_format(data("nvidia-smi-hgx-h100.txt"), "a") == ImportFormat::nvidia_smi_topo);
  CHECK(detect_format(data("nvidia-smi-nvlink-h100.txt"), "a") == ImportFormat::nvidia_smi_nvlink);
  CHECK(detect_format(data("hwloc-aws-p5.xml.gz"), "a") == ImportFormat::hwloc_xml);
  CHECK(detect_format("<?xml version=\"1.0\"?><!-- <topology> -->\n<system version=\"1\"/>", "a") ==
        ImportFormat::nccl_xml);
  CHECK(detect_format("# comment\nSwitchName=s0 Nodes=n[0-3]\n", "a") == ImportFormat::slurm_topology_conf);
  CHECK(detect_format(data("slurm-blocks.conf"), "a") == ImportFormat::slurm_topology_conf);
  CHECK(detect_format(data("topograph-medium.yaml"), "a") == ImportFormat::topograph);
  CHECK(detect_format(data("ibnetdiscover-ndr-rails.txt.gz"), "a") == ImportFormat::ibnetdiscover);
  for (const auto f : topologies::import_formats()) CHECK(topologies::import_format(topologies::name_of(f)) == f);
}

TEST_CASE("texts that are none", "[topologies][import]") {
  const auto problem = [](const std::string& text) { return problems(text)[0].problem; };
  CHECK(problem("") == "is empty");
  CHECK(problem(" \n\t\n") == "is empty");
  CHECK(problem(std::string{"GPU0\0", 5}).find("is binary") == 0);
  CHECK(problem(std::string{"\xff\xfeG\0", 4}).find("UTF-16") != std::string::npos);
  CHECK(problem("hello\n").find("no format was recognised") != std::string::npos);
  CHECK(problem("<html></html>") == "XML of an unknown kind: <html>");
  CHECK(problem("schema: linkcast.topology/1\n") == "is a Linkcast file already");
  const auto packed = data("hwloc-aws-p5.xml.gz");
  CHECK(problem(packed.substr(0, packed.size() / 2)) == "gzip: the file is cut off");
  auto broken = packed;
  for (std::size_t i = 40; i < 80; ++i) broken[i] = '\x55';
  CHECK(problem(broken).find("gzip: ") == 0);
  CHECK(problem("<topology>" + std::string(std::size_t{17} << 20, ' ') + "</topology>").find("is 17 MiB large") == 0);
  CHECK(problem(std::string(topologies::max_import_bytes + 1, 'x')) == "is larger than 64 MiB");
  CHECK_THROWS_AS(topologies::import_topology({}), sim::InputError);
  // Two machines are no cluster of one kind.
  const std::vector<topologies::InputFile> two{{"a", four_a100}, {"b", four_a100}};
  CHECK_THROWS_WITH(topologies::import_topology(two, with_gpu("a100-sxm")), Catch::Contains("a second machine"));
}
