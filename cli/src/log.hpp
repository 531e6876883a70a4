// What the command says beside its answer, on stderr. Hides spdlog, whose headers are slow to compile.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

namespace linkcast::cli {

class Log {
 public:
  explicit Log(std::ostream& err);
  ~Log();
  void note(const std::string& text);
  void warning(const std::string& text);
  /// A line that the next one overwrites: shown only where stderr is a terminal. Empty: takes it away.
  void status(const std::string& text);
  bool on_terminal() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::cli
