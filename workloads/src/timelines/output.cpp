// See output.hpp.
#include "output.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::timelines {
namespace {

/// One gzip member, without a time stamp, so that the same text gives the same bytes.
std::string member(std::string_view text) {
  z_stream z{};
  if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc{};
  std::string out(deflateBound(&z, static_cast<uLong>(text.size())), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

struct Closer {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

}  // namespace

Output::Output(std::string path, bool gzip, std::size_t piece) : path_{std::move(path)}, gzip_{gzip}, piece_{piece} {}

void Output::flush() {
  if (waiting_.empty() && begun_) return;
  const auto refuse = [&] {
    throw sim::InputError(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, Closer> file{std::fopen(path_.c_str(), begun_ ? "ab" : "wb")};
  if (!file) refuse();
  begun_ = true;
  const auto packed = gzip_ ? member(waiting_) : std::string{};
  const std::string_view bytes = gzip_ ? packed : waiting_;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() || std::fflush(file.get()) != 0) refuse();
  waiting_.clear();
}

std::string path_of_rank(const std::string& pattern, int rank) {
  auto out = pattern;
  for (auto at = out.find("%r"); at != out.npos; at = out.find("%r", at)) out.replace(at, 2, fmt::format("{}", rank));
  return out;
}

void make_folders(const std::string& path) {
  const auto folder = std::filesystem::path{path}.parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) throw sim::InputError(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
}

}  // namespace linkcast::workloads::timelines
