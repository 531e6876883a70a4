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

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::cli
