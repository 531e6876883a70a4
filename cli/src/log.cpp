// See log.hpp. The only file that knows spdlog.
#include "log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <unistd.h>

#include <iostream>

namespace linkcast::cli {

// A logger of its own, outside of spdlog's registry: no state is shared with another run in the same process.
struct Log::Impl {
  explicit Impl(std::ostream& e)
      : err{e}, logger{"linkcast", std::make_shared<spdlog::sinks::ostream_sink_st>(e, true)} {
    logger.set_pattern("%l: %v");
  }
  std::ostream& err;
  spdlog::logger logger;
};

Log::Log(std::ostream& err) : impl_{std::make_unique<Impl>(err)} {}
Log::~Log() = default;
void Log::note(const std::string& text) { impl_->logger.log(spdlog::level::info, spdlog::string_view_t{text}); }
void Log::warning(const std::string& text) { impl_->logger.log(spdlog::level::warn, spdlog::string_view_t{text}); }
bool Log::on_terminal() const { return &impl_->err == &std::cerr && ::isatty(STDERR_FILENO) == 1; }
void Log::status(const std::string& text) {
  if (on_terminal()) impl_->err << "\r\x1b[K" << text << std::flush;
}

}  // namespace linkcast::cli
