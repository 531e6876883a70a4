// Finds in a piece of text what identifies people and machines, and replaces it. Knows no file and no syntax.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "pseudonyms.hpp"

namespace linkcast::workloads::anonymising {

struct Runs;

class Scrubber {
 public:
  explicit Scrubber(Pseudonyms& pseudonyms) : names_{pseudonyms} {}

  /// Addresses, paths, hexadecimal ids, assignments of variables, secrets, frames of Python, words that were learned.
  std::string scrub(std::string_view text);

  std::string host(std::string_view text);  // learns it: from then on it is replaced wherever it stands alone
  std::string user(std::string_view text);
  std::string path(std::string_view text);
  std::string function(std::string_view text) { return text.empty() ? "" : names_.word("function", text); }
  std::string guid(std::string_view text) { return names_.hex("guid", text); }
  /// Of processes and threads; small ones (devices, streams) stay.
  std::string process(std::string_view digits);
  std::string communicator(std::string_view digits);
  std::string variable(std::string_view name, std::string_view value);  // of an environment

 private:
  std::size_t match(std::string_view text, std::size_t at, Runs& runs, std::string& out);
  std::size_t match_frame(std::string_view text, std::string& out);
  std::string component(std::string_view text);

  Pseudonyms& names_;
  void learn(std::string_view text, const std::string& pseudonym);

  std::unordered_map<std::string, std::string> words_;  // that were learned
  std::size_t longest_ = 0;                             // of them
  int depth_ = 0;                                       // of values of variables within each other
};

bool digits_only(std::string_view text);

}  // namespace linkcast::workloads::anonymising
