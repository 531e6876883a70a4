// See lines.hpp.
#include "lines.hpp"

#include <fmt/format.h>

#include <cstring>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {

bool Lines::next(std::string_view& line) {
  constexpr std::size_t chunk = std::size_t{1} << 18;
  while (true) {
    const auto* from = buffer_.data() + scanned_;
    const auto* found = static_cast<const char*>(std::memchr(from, '\n', buffer_.size() - scanned_));
    if (found != nullptr || buffer_.size() - begin_ >= longest || (ended_ && begin_ < buffer_.size())) {
      const auto end = found != nullptr ? static_cast<std::size_t>(found - buffer_.data()) : buffer_.size();
      line = std::string_view{buffer_}.substr(begin_, end - begin_);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      begin_ = scanned_ = found != nullptr ? end + 1 : end;
      ++number_;
      return true;
    }
    if (ended_) return false;
    buffer_.erase(0, begin_);
    begin_ = 0;
    scanned_ = buffer_.size();
    buffer_.resize(scanned_ + chunk);
    std::size_t n = 0;
    try {
      n = source_.read(buffer_.data() + scanned_, chunk);
    } catch (const sim::InputError& e) {
      problem_ = e.diagnostics().front().problem;
    }
    buffer_.resize(scanned_ + n);
    if (n == 0) ended_ = true;
  }
}

std::string Lines::where() const { return fmt::format("{}:{}", source_.path(), number_); }

}  // namespace linkcast::workloads::readers
