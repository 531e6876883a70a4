// The loader beyond single mistakes: files and folders, overrides, parameters, own parts; and hostile input.
#include <filesystem>
#include <fstream>
#include <random>

#include "../../topologies/src/loader.hpp"
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/describe.hpp"

namespace fs = std::filesystem;
using namespace linkcast;
using namespace linkcast::topologies;

namespace {

Fabric from(const std::string& text) {
  return load_yaml(std::make_shared<SourceText>(SourceText{"test.yaml", text, false}), "test", LoadOptions{});
}

std::string error_of(const std::string& path) {
  try {
    load(path);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("files that are no topology files", "[topologies][loader]") {
  const auto folder = fs::temp_directory_path() / ("linkcast-loader-" + std::to_string(std::random_device{}()));
  fs::create_directories(folder);
  CHECK_THAT(error_of(folder.string()), Catch::Contains("is a directory"));
  CHECK_THAT(error_of((folder / "missing.yaml").string()), Catch::Contains("neither in the catalog nor a file"));
  // 100 MB: refused by its size, not read (a sparse file holds no data).
  const auto large = folder / "large.yaml";
  std::ofstream{large}.put('a');
  fs::resize_file(large, 100'000'000);
  CHECK_THAT(error_of(large.string()), Catch::Contains("is 95.4 MiB large; a topology has at most 16 MiB"));
  fs::remove_all(folder);
}

TEST_CASE("an override reaches one link", "[topologies][loader]") {
  const auto f = from(R"(schema: linkcast.topology/1
extends: dgx-h100
overrides:
  - {link: "gpu[3]-nvswitch[1]", state: down}
  - {link: "nvswitch[0]-gpu[3]", state: 80 GB/s}
)");
  // 4 + 5 + 4 links are left; the shares follow the links, not their rates.
  const auto r = f.route(f.gpus()[3], f.gpus()[0], Transport::nvlink);
  REQUIRE(r);
  CHECK(r->hops.size() == 6);
  CHECK(r->hops.front().weight == Approx(4.0 / 13));
  // Fabric of 8: the halves are 0-3 and 4-7. GPU 3 has 80 + 125 + 100 of 450: 3 * 450 + 305.
  CHECK(f.bisection().GBps() == Approx(3 * 450 + 305));
  const auto text = to_text(check(f));
  CHECK_THAT(text, Catch::Contains("warning: gpu[3]-nvswitch[1] (nvlink nvlink4): down"));
  CHECK_THAT(text, Catch::Contains("gpu[3]-nvswitch[0] (nvlink nvlink4): slowed to 80 GB/s"));
  CHECK_THAT(text, Catch::Contains("gpu[3] has 305.0 GB/s of NVLink, most others 450.0 GB/s"));
}

TEST_CASE("a switch that is down takes its links with it", "[topologies][loader]") {
  const auto f =
      from("schema: linkcast.topology/1\nextends: dgx-a100\noverrides: [{device: \"nvswitch[2]\", state: down}]\n");
  CHECK(f.bisection().GBps() == Approx(4 * 10 * 25));  // 10 of 12 links of each GPU
  CHECK(f.route(f.gpus()[0], f.gpus()[1], Transport::nvlink)->hops.size() == 10);
}

TEST_CASE("own parts take what they do not say from a part of the catalog", "[topologies][loader]") {
  const auto f = from(R"(schema: linkcast.topology/1
extends: hgx-a100-4
parts:
  gpus:
    a100-80: {extends: a100-sxm, memory: {value: 2039 GB/s, source: "A100 80 GB datasheet"}}
  links:
    half: {extends: nvlink3, rate: 12.5 GB/s}
node:
  gpus: {model: a100-80}
  nvlink: {link: half}
)");
  CHECK(f.gpu_model(f.gpus()[0]).memory.GBps() == Approx(2039));
  CHECK(f.gpu_model(f.gpus()[0]).compute_capability == 80);
  CHECK(f.bisection().GBps() == Approx(200));
  CHECK_THAT(to_text(sources(f)), Catch::Contains("A100 80 GB datasheet"));
  const auto again = from(to_yaml(f));
  CHECK(again.bisection() == f.bisection());
  CHECK(again.links().size() == f.links().size());
}

TEST_CASE("hostile files are refused before they cost anything", "[topologies][loader]") {
  const auto refused = [](const std::string& text) {
    try {
      from(text);
    } catch (const sim::InputError& e) {
      return std::string{e.diagnostics().front().problem};
    }
    return std::string{"no error"};
  };
  CHECK(refused(std::string(1'000'000, '[')) == "more than 200000 lists and maps");
  CHECK_THAT(refused(std::string(100'000, '[')), Catch::Contains("nested"));
  std::string many = "schema: linkcast.topology/1\n";
  for (int i = 0; i < 6'000; ++i) many += "k" + std::to_string(i) + ": v\n";
  CHECK(refused(many) == "more than 5000 keys in one map");
}

// What the fuzzer does, with a fixed seed: no input crashes, hangs or throws anything but InputError.
TEST_CASE("mutated catalog files are loaded or refused", "[topologies][loader][fuzz]") {
  std::mt19937 random{20240607};
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<std::string> texts;
  for (const auto& name : catalog_names()) texts.emplace_back(catalog_text(name));
  static constexpr std::string_view pieces[] = {"{",
                                                "}",
                                                "[",
                                                "]",
                                                ": ",
                                                "- ",
                                                "\n",
                                                "  ",
                                                "&a ",
                                                "*a",
                                                "!!str ",
                                                "|\n",
                                                "\"",
                                                "'",
                                                "#",
                                                "-1",
                                                "0",
                                                "99999999999999999999",
                                                "1e999",
                                                "${gpus}",
                                                "${",
                                                "? ",
                                                "gpus",
                                                "links",
                                                "extends: dgx-h100\n",
                                                "---\n",
                                                "\t",
                                                "\xff",
                                                "450 GB/s",
                                                "0-7"};
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto text = texts[below(texts.size())];
    const auto changes = 1 + below(4);
    for (std::size_t c = 0; c < changes && !text.empty(); ++c) {
      const auto at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = static_cast<char>(random() & 0xff);
          break;
        case 1:
          text.erase(at, 1 + below(40));
          break;
        case 2:
          text.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), below(60)));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    try {
      const auto fabric = from(text);
      for (auto t : {Transport::nvlink, Transport::pcie_p2p, Transport::host_memory}) {
        fabric.route(fabric.gpus().front(), fabric.gpus().back(), t);
      }
      to_text(describe(fabric));
    } catch (const sim::InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("the examples of docs/topology.md load", "[topologies][docs]") {
  std::ifstream in{fs::path{LINKCAST_SOURCE_DIR} / "docs/topology.md"};
  const std::string page{std::istreambuf_iterator<char>{in}, {}};
  const auto block = [&](std::string_view first_line) {
    const auto begin = page.find("```yaml\n" + std::string{first_line});
    REQUIRE(begin != std::string::npos);
    const auto start = begin + 8;
    return page.substr(start, page.find("```", start) - start);
  };
  const auto f = from(block("schema:"));
  CHECK(f.gpus().size() == 8);
  CHECK(f.bisection().GBps() == Approx(1800));
  const auto g = from("schema: linkcast.topology/1\nextends: dgx-h100\n" + block("overrides:"));
  CHECK(check(g).size() >= 4);
}
