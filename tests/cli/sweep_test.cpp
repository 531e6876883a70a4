// `linkcast sweep` as a process: killed, out of disk, told wrong things.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "catch.hpp"
#include "linkcast/planning/sweep.hpp"
#include "ran.hpp"

namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("linkcast-cli-sweep-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

std::string read(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

constexpr const char* thousand = LINKCAST_SOURCE_DIR "/configs/sweep-1000.yaml";

/// The command in a process of its own; its stderr goes to `log`.
pid_t start(const std::string& out, const std::string& log, rlim_t largest_file = RLIM_INFINITY) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (largest_file != RLIM_INFINITY) {
    const rlimit limit{largest_file, largest_file};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
  }
  const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int none = ::open("/dev/null", O_WRONLY);
  ::dup2(none, 1);
  ::dup2(to, 2);
  ::execl(LINKCAST_COMMAND, "linkcast", "sweep", thousand, "--out", out.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

int finished(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("a sweep killed at twenty random moments loses no finished row and corrupts no file", "[cli][sweep]") {
  const Folder folder;
  const auto out = folder.file("results.csv"), log = folder.file("log");
  // How long the whole takes here, so that kills fall anywhere in it.
  const auto begun = std::chrono::steady_clock::now();
  REQUIRE(finished(start(folder.file("whole.csv"), log)) == 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun);
  std::mt19937 random{20};
  std::vector<linkcast::planning::Row> known;
  int killed = 0, among_rows = 0;
  for (int tries = 0; tries < 400 && (killed < 20 || among_rows == 0); ++tries) {
    const auto child = start(out, log);
    std::this_thread::sleep_for(std::chrono::microseconds{
        std::uniform_int_distribution<long>{1, static_cast<long>(whole.count() / 3)}(random)});
    ::kill(child, SIGKILL);
    const bool was_killed = finished(child) == -SIGKILL;
    if (!fs::exists(out)) continue;
    std::size_t complete = 0;
    const auto rows = linkcast::planning::read_csv(read(out), &complete);
    // Everything that was there before is there again, in its place unless the file was put in order at the end.
    REQUIRE(rows.size() >= known.size());
    for (std::size_t r = 0; r < known.size(); ++r)
      if (rows[r] != known[r]) REQUIRE(std::find(rows.begin(), rows.end(), known[r]) != rows.end());
    for (const auto& row : rows) REQUIRE(row.size() == rows.front().size());
    if (was_killed) {
      ++killed;
      if (rows.size() > std::max<std::size_t>(1, known.size())) ++among_rows;
      known = rows;
    } else {  // it was quicker: from the beginning
      fs::remove(out);
      known.clear();
    }
  }
  CHECK(killed >= 20);
  CHECK(among_rows > 0);
  REQUIRE(finished(start(out, log)) == 0);
  const auto resumed = read(out);
  REQUIRE(linkcast::planning::read_csv(resumed).size() == 1001);

  const auto fresh = folder.file("fresh.csv");
  REQUIRE(finished(start(fresh, log)) == 0);
  CHECK(read(fresh) == resumed);
}

TEST_CASE("a full disk keeps what was finished, and the sweep goes on later", "[cli][sweep]") {
  const Folder folder;
  const auto out = folder.file("results.csv"), log = folder.file("log");
  // A file may not grow beyond 40,000 bytes here: writing fails as on a disk that is full.
  CHECK(finished(start(out, log, 40'000)) == 2);
  CHECK(read(log).find("cannot be written") != std::string::npos);
  CHECK(read(log).find("results before it are kept") != std::string::npos);
  std::size_t complete = 0;
  const auto text = read(out);
  const auto rows = linkcast::planning::read_csv(text, &complete);
  CHECK(complete == text.size());
  CHECK(rows.size() > 10);
  CHECK(finished(start(out, log)) == 0);
  CHECK(linkcast::planning::read_csv(read(out)).size() == 1001);
}

TEST_CASE("sweep's exit status follows the goals", "[cli][sweep]") {
  const Folder folder;
  const auto file = folder.file("s.yaml");
  const auto with = [&](const std::string& goal) {
    std::ofstream{file} << "topology: dgx-h100\nworkload: {collective: {op: all_reduce, size: 1 GiB}}\n"
                           "variants: {env.NCCL_ALGO: [~, Ring]}\ngoals: [\""
                        << goal << "\"]\n";
    return typed("sweep \"" + file + "\"");
  };
  CHECK(with("busbw(all_reduce, 1 GiB) >= 400 GB/s").status == 0);
  const auto missed = with("busbw(all_reduce, 1 GiB) >= 900 GB/s");
  CHECK(missed.status == 1);
  CHECK(missed.out.find("no variant meets all of them") != std::string::npos);
  CHECK(with("busbw >= 900 GB/s").status == 2);
  CHECK(typed("sweep").status == 2);
  CHECK(typed("sweep nowhere.yaml").status == 2);
  const auto json = typed("sweep \"" + file + "\" --set goals=[] --json");
  CHECK(nlohmann::json::parse(json.out)["schema"] == "linkcast.sweep/1");
}
