// Runs the command inside the test program, as a user would type it.
#pragma once

#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

#include "linkcast/cli/run.hpp"

struct Ran {
  int status;
  std::string out, err;
};

/// Words of a command line; "…" keeps blanks together.
inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      if (!open) words.emplace_back(), open = true;
    } else if (c == ' ' && !quoted) {
      open = false;
    } else {
      if (!open) words.emplace_back(), open = true;
      words.back() += c;
    }
  }
  return words;
}

/// `line` without "linkcast".
inline Ran typed(const std::string& line, std::stop_token stop = {}) {
  const auto words = words_of("linkcast " + line);
  std::vector<const char*> argv;
  for (const auto& w : words) argv.push_back(w.c_str());
  argv.push_back(nullptr);
  std::ostringstream out, err;
  const int status = linkcast::cli::run(static_cast<int>(words.size()), argv.data(), out, err, std::move(stop));
  return {status, out.str(), err.str()};
}
