// What a user with a wrong measurement file reads: each file of tests/golden/measurement-errors (and its tools/), with
// the message beside it. LINKCAST_REFRESH_GOLDEN=1 writes the messages anew; the diff is for a person to read.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "linkcast/calibration/measurements.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
namespace fs = std::filesystem;

template <class Read>
void explains(const std::string& folder, std::size_t at_least, Read&& read) {
  std::vector<fs::path> inputs;
  for (const auto& entry : fs::directory_iterator(test::repository() / "tests/golden" / folder)) {
    if (entry.is_regular_file() && entry.path().extension() != ".expected") inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  REQUIRE(inputs.size() >= at_least);
  for (const auto& input : inputs) {
    INFO(input.filename().string());
    const auto message = test::error_of([&] { read(input); }) + "\n";
    const auto expected = fs::path(input.string() + ".expected");
    if (std::getenv("LINKCAST_REFRESH_GOLDEN") != nullptr) std::ofstream(expected, std::ios::binary) << message;
    CHECK(message == test::text_of(expected));
  }
}

TEST_CASE("wrong measurement files are explained, all mistakes at once") {
  explains("measurement-errors", 15, [](const fs::path& input) { calibration::read_series(input); });
}

TEST_CASE("so are those of other tools and kinds") {
  explains("measurement-errors/tools", 15,
           [](const fs::path& input) { calibration::read_everything(std::vector{input}); });
}

TEST_CASE("what is no measurement at all is said so") {
  const auto read_bytes = [](const std::string& bytes) {
    const auto path = fs::temp_directory_path() / "linkcast-measurement-test.log";
    std::ofstream(path, std::ios::binary) << bytes;
    auto message = test::error_of([&] { calibration::read_series(path); });
    fs::remove(path);
    return message.substr(message.find("error:"));
  };
  CHECK(read_bytes("").find("error: the file is empty") == 0);
  CHECK(read_bytes(std::string("\x7f"
                               "ELF\x02\x01\x00\x00",
                               8))
            .find("error: not a text file: byte 0x02") == 0);
  CHECK(test::error_of([] { calibration::read_series("no/such/file.yaml"); }).find("no such file or folder") !=
        std::string::npos);

  const auto folder = fs::temp_directory_path() / "linkcast-measurement-test";
  fs::create_directories(folder);
  CHECK(test::error_of([&] { calibration::read_series(folder); }).find("no measurement in this folder") !=
        std::string::npos);
  std::ofstream(folder / "note.txt") << "not a log\n";
  std::ofstream(folder / "a.yaml") << "kind: collective\nranks: none\n";
  std::ofstream(folder / "b.yaml") << "kind: collective\nwobble: 1\n";
  // Both broken files are reported, each with its own lines; the note is left alone.
  const auto both = test::error_of([&] { calibration::read_series(folder); });
  CHECK(both.find("a.yaml:2:8: error: 'none' is not a value for 'ranks'") != std::string::npos);
  CHECK(both.find("2 | ranks: none") != std::string::npos);
  CHECK(both.find("b.yaml:2:1: error: unknown key 'wobble'") != std::string::npos);
  CHECK(both.find("note.txt") == std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("a file that is too large is refused before it is parsed") {
  const std::string text = "kind: collective\nmachine_notes: " + std::string(17u << 20, 'x') + "\n";
  const auto message = test::error_of([&] { calibration::read_corpus_yaml(text, "large.yaml"); });
  CHECK(message.find("large.yaml: error: the file has 17 MiB; at most 16 MiB are read") == 0);
  CHECK(message.size() < 500);
}

}  // namespace
