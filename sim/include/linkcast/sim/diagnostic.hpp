// What is said to somebody whose input is wrong: where, what, and what to write instead.
// The one error type of all readers. Knows no file format.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::sim {

/// A place in a text. Lines and columns count from 1, as editors do; line 0: the file as a whole.
struct SourceSpan {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 1;
};

struct Diagnostic {
  SourceSpan at;
  std::string problem;  // "unknown key 'latancy'"
  std::string help;     // "did you mean 'latency'?"; may be empty
};

/// `file:line:column: error: problem`, the offending line and a caret with the help, as compilers print it.
/// `text` is the whole text of the file; empty where it is not at hand (then no line is quoted).
std::string render(const Diagnostic& d, std::string_view text);

/// Thrown once for an input, after all its problems have been collected. Commands turn it into exit status 2.
class InputError : public std::runtime_error {
 public:
  /// `text`: the input that the diagnostics point into. Sorts by position. Requires at least one diagnostic.
  InputError(std::vector<Diagnostic> diagnostics, std::string_view text);
  /// For input that is not in a file: a command-line option, an argument of a Python call.
  InputError(std::string problem, std::string help = {});
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// The name in `known` with the smallest edit distance to `name`, or empty where none is near
/// (more than a third of the letters differ).
std::string nearest(std::string_view name, std::span<const std::string> known);

/// A broken promise of this program, not of its input: exit status 3.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace linkcast::sim
