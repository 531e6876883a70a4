// `calibrate fit` and `--profile`, as a user types them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "ran.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::string series =
    "\"" + std::string{LINKCAST_SOURCE_DIR} + "/tests/data/collectives/h100x4-allreduce-nccl2.29-nvsw-quiet.yaml\"";

struct Folder {
  fs::path path = fs::temp_directory_path() / ("linkcast-fit-" + std::to_string(std::rand()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

}  // namespace

TEST_CASE("a fitted profile makes predictions of its own cluster better, and says what to expect of them") {
  const Folder folder;
  const auto profile = folder.file("ours.yaml");
  const auto ran = typed("calibrate fit " + series + " --hold-back 50% -o \"" + profile + "\" --json");
  REQUIRE(ran.status == 0);
  const auto fit = json::parse(ran.out);
  CHECK(fit["schema"] == "linkcast.fit/1");
  CHECK(fit["data"] == json::array({"h100x4-allreduce-nccl2.29-nvsw-quiet"}));
  CHECK(fit["errors"]["held_back"]["points"].get<int>() + fit["errors"]["fitted"]["points"].get<int>() == 31);

  const auto before = json::parse(typed("validate " + series + " --json").out);
  const auto after = json::parse(typed("validate " + series + " --json --profile \"" + profile + "\"").out);
  CHECK(after["overall"]["median_abs_rel_error"].get<double>() <
        0.8 * before["overall"]["median_abs_rel_error"].get<double>());

  const auto row = json::parse(
      typed("collective all_reduce --topology dgx-h100 --gpus 4 --nccl 2.29.2 --size 1G --json --profile \"" + profile +
            "\"")
          .out)["rows"][0];
  CHECK(row["expected_error"]["from"].get<std::string>().find("dgx-h100 all_reduce") == 0);

  // The same command twice: the same profile, byte for byte.
  typed("calibrate fit " + series + " --hold-back 50% --threads 1 -o \"" + folder.file("again.yaml") + "\"");
  std::ostringstream first, second;
  first << std::ifstream{profile}.rdbuf();
  second << std::ifstream{folder.file("again.yaml")}.rdbuf();
  CHECK(first.str() == second.str());
}

TEST_CASE("what a fit cannot use is refused, all mistakes at once") {
  const auto ran = typed("calibrate fit --hold-back 95% --threads many");
  CHECK(ran.status == 2);
  CHECK(ran.err.find("no measurement is named") != std::string::npos);
  CHECK(ran.err.find("--hold-back 95%") != std::string::npos);
  CHECK(ran.err.find("--threads") != std::string::npos);

  const Folder folder;
  const auto few = folder.file("few.yaml");
  std::ofstream{few}
      << "id: few\nsource: nobody\nkind: collective\nsystem: dgx-h100\nnodes: 1\ngpus_per_node: 8\nranks: 8\n"
         "collective: all_reduce\ndtype: float\nredop: sum\nhealth: ok\n"
         "columns: [size_bytes, time_us]\nrows:\n- [1048576, 50]\n- [2097152, 60]\n";
  const auto refused = typed("calibrate fit \"" + few + "\" --hold-back 0%");
  CHECK(refused.status == 2);
  CHECK(refused.err.find("2 points can be used") != std::string::npos);
  CHECK(refused.err.find("all_reduce_perf") != std::string::npos);
}

TEST_CASE("a profile reaches run, and a wrong one is refused at its line") {
  const Folder folder;
  const auto profile = folder.file("slow.yaml");
  std::ofstream{profile}
      << "schema: linkcast.profile/1\nname: slow\nparts:\n  gpus:\n    h100-sxm: {nvls_efficiency: 0.2}\n";
  const std::string scenario = "\"" + std::string{LINKCAST_SOURCE_DIR} + "/configs/data-parallel-dgx-h100.yaml\"";
  const auto plain = json::parse(typed("run " + scenario + " --json").out);
  const auto slow = json::parse(typed("run " + scenario + " --json --profile \"" + profile + "\"").out);
  CHECK(slow["totals"][0]["time_us"].get<double>() > 1.5 * plain["totals"][0]["time_us"].get<double>());
  CHECK(plain["totals"][0]["expected_error"]["p90_percent"].get<double>() > 0);

  std::ofstream{profile}
      << "schema: linkcast.profile/1\nname: slow\nparts:\n  hosts:\n    xoen: {launch_graph: 1 us}\n";
  const auto wrong = typed("collective all_reduce --topology dgx-h100 --profile \"" + profile + "\"");
  CHECK(wrong.status == 2);
  CHECK(wrong.err.find("slow.yaml:5:5: error: the catalog has no part 'xoen'") != std::string::npos);
}

TEST_CASE("numbers that no hardware has are refused in a profile, at their place") {
  const Folder folder;
  const auto profile = folder.file("odd.yaml");
  std::ofstream{profile} << "schema: linkcast.profile/1\nname: odd\nparts:\n  gpus:\n    h100-sxm:\n"
                            "      nvls_efficiency: {value: 40}\n      jitter: 3 s\n";
  const auto ran = typed("topo show dgx-h100 --profile \"" + profile + "\"");
  CHECK(ran.status == 2);
  CHECK(ran.err.find("odd.yaml:6:32: error: 'nvls_efficiency' cannot be 40") != std::string::npos);
  CHECK(ran.err.find("odd.yaml:7:15: error: 'jitter' cannot be 3000000 us") != std::string::npos);
}

TEST_CASE("a profile in use is said, and that it is of another machine") {
  const Folder folder;
  const auto profile = folder.file("ours.yaml");
  std::ofstream{profile} << "schema: linkcast.profile/1\nname: ours\nsystem: dgx-h100\nparts:\n  gpus:\n"
                            "    h100-sxm: {nvls_efficiency: 0.6}\n";
  const auto own = typed("collective all_reduce --topology dgx-h100 --size 1G --profile \"" + profile + "\"").out;
  CHECK(own.find("# profile: ours (") != std::string::npos);
  CHECK(own.find("warning") == std::string::npos);
  // It brings no errors of its own: those that ship are of another model.
  CHECK(own.find("*: this machine") != std::string::npos);
  const auto other = typed("collective all_reduce --topology dgx-a100 --size 1G --profile \"" + profile + "\"").out;
  CHECK(other.find("# warning: the profile is of dgx-h100, not of dgx-a100") != std::string::npos);
}

TEST_CASE("what cannot be fitted is refused before or after the fit, and no file is replaced") {
  const auto other = typed("calibrate fit " + series + " --system dgx-a100");
  CHECK(other.status == 2);
  CHECK(other.err.find("was measured on dgx-h100, not on dgx-a100") != std::string::npos);
  CHECK(typed("validate " + series + " --system dgx-a100").status == 2);

  const auto typo = typed("calibrate fit " + series + " --only gpus.h100-sxm.simpel");
  CHECK(typo.status == 2);
  CHECK(typo.err.find("did you mean 'gpus.h100-sxm.simple'?") != std::string::npos);

  const Folder folder;
  const auto there = folder.file("there.yaml");
  std::ofstream{there} << "precious\n";
  const auto kept = typed("calibrate fit " + series + " -o \"" + there + "\"");
  CHECK(kept.status == 2);
  CHECK(kept.err.find("is there already") != std::string::npos);

  // Milliseconds where microseconds are expected: 1 GiB among four GPUs in 5 s.
  const auto ms = folder.file("ms.yaml");
  std::ofstream out{ms};
  out << "id: ms\nsource: nobody\nkind: collective\nsystem: dgx-h100\nnodes: 1\ngpus_per_node: 4\nranks: 4\n"
         "collective: all_reduce\ndtype: float\nredop: sum\nhealth: ok\ncolumns: [size_bytes, time_us]\nrows:\n";
  for (int i = 20; i <= 30; ++i) out << "- [" << (1 << i) << ", " << 50000 + (1 << i) / 200 << "]\n";
  out.close();
  const auto unit = typed("calibrate fit \"" + ms + "\"");
  CHECK(unit.status == 2);
  CHECK(unit.err.find("is a unit wrong") != std::string::npos);
  CHECK(typed("validate \"" + ms + "\"").out.find("is a unit wrong") != std::string::npos);
}
