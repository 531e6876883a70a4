// Drives a fuzz target without libFuzzer: every seed as it is, then a fixed number of mutations of the seeds, the same
// ones on every run. A finding is a crash or an exception that the target lets through; the input is left in a file.
// Knows nothing about what the target reads.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Of the sanitizers' runtime: they end the program without a signal. Absent without them.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); }

std::string slurp(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Damages a text as editors, copy and paste and broken transfers do: bytes flipped, spans cut, doubled, moved from
/// another seed, numbers made extreme.
std::string mutate(Random& random, std::string text, const std::vector<std::string>& seeds) {
  static const char* const extremes[] = {
      "-1",       "0", "1e999", "99999999999999999999", "\"", ": ", "\n\t- ", "&a", "*a", "<<: ", "\xff\xfe",
      "[[[[[[[[", "{", "nan"};
  const auto rounds = 1 + below(random, 4);
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto at = below(random, text.size() + 1);
    switch (below(random, 6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, below(random, 40));
        break;
      case 2:
        text.insert(at, text.substr(below(random, text.size() + 1), below(random, 80)));
        break;
      case 3: {
        const auto& other = seeds[below(random, seeds.size())];
        text.insert(at, other.substr(below(random, other.size() + 1), below(random, 200)));
        break;
      }
      case 4:
        text.insert(at, extremes[below(random, std::size(extremes))]);
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

/// The input being tried, for whoever dies on it.
const std::string* current = nullptr;

void keep_input() {
  if (current == nullptr) return;
  std::ofstream{"fuzz-finding.bin", std::ios::binary} << *current;
  std::fprintf(stderr, "the input that did it (%zu bytes) is in fuzz-finding.bin\n", current->size());
}

extern "C" void on_signal(int number) {
  keep_input();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(const std::string& input) {
  current = &input;
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "finding: the target let an exception through: %s\n", e.what());
    keep_input();
    std::exit(1);
  }
  current = nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_input);  // the sanitizers' own report of a bad access says more than a signal
  } else {
    for (const int number : {SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(number, on_signal);
  }
  long runs = 1000;
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--runs" && i + 1 < argc) {
      runs = std::strtol(argv[++i], nullptr, 10);
    } else if (std::filesystem::is_directory(argument)) {
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::recursive_directory_iterator{argument}) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
      std::sort(files.begin(), files.end());
      for (const auto& file : files) seeds.push_back(slurp(file));
    } else if (std::filesystem::is_regular_file(argument)) {
      seeds.push_back(slurp(argument));
    } else {
      std::fprintf(stderr, "no such file or folder of seeds: %s\n", argument.c_str());
      return 2;
    }
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "usage: %s [--runs N] SEED-FILE-OR-FOLDER...\n", argv[0]);
    return 2;
  }
  for (const auto& seed : seeds) run(seed);
  Random random{20240131};
  for (long i = 0; i < runs; ++i) run(mutate(random, seeds[below(random, seeds.size())], seeds));
  std::printf("%zu seeds and %ld mutations: no finding\n", seeds.size(), runs);
  return 0;
}
