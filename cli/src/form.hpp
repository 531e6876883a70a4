// What every command is made of: a form with options to fill in, and a function that is called when it was chosen.
// Hides CLI11, whose headers are slow to compile. Every value arrives as the text that was typed: reading it is the
// command's business (words.hpp), which can say what was expected. Knows no particular command.
#pragma once

#include <functional>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "log.hpp"

namespace linkcast::cli {

inline constexpr int done = 0, check_failed = 1, wrong_input = 2, internal_error = 3, interrupted = 130;

/// Where a command writes, and whether it shall end early.
struct Io {
  std::ostream& out;
  Log& log;
  std::stop_token stop;
  std::string command;  // as it was typed, quoted for a shell
};

/// A command line that cannot be understood: all its problems, rendered, one below the other.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The options of one command. What is filled in must outlive the form; `names` are as in "-t,--topology".
class Form {
 public:
  Form command(const std::string& name, const std::string& description);
  void performs(std::function<int(Io&)> perform);  // returns the exit status
  void examples(const std::string& text);

  void group(const std::string& heading);  // of the options that follow
  void text(const std::string& names, std::string& into, const std::string& placeholder, const std::string& help);
  void list(const std::string& names, std::vector<std::string>& into, const std::string& placeholder,
            const std::string& help);  // may be repeated
  void flag(const std::string& names, bool& into, const std::string& help);
  void word(const std::string& name, std::string& into, const std::string& help);  // positional
  void words(const std::string& name, std::vector<std::string>& into, const std::string& help);

 private:
  friend class CommandLine;
  struct Impl;
  explicit Form(Impl* impl) : impl_{impl} {}
  Impl* impl_;  // owned by the command line
  std::string group_ = "Options";
};

class CommandLine {
 public:
  CommandLine(const std::string& description, std::string version);
  ~CommandLine();
  Form root();
  /// Parses, and performs the command that was chosen, or prints help or version. Throws UsageError.
  int perform(int argc, const char* const* argv, Io& io);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

void add_collective(Form root);
void add_nccl(Form root);
void add_validate(Form root);
void add_diagnose(Form root);
void add_run(Form root);
void add_sweep(Form root);
void add_plan(Form root);
void add_cost(Form root);
void add_resilience(Form root);
void add_topo(Form root);
void add_trace(Form root);
void add_calibrate(Form root);

}  // namespace linkcast::cli
