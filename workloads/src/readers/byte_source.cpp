// See byte_source.hpp. gzip by zlib (members one after the other, as pigz and `cat` make them), zstd by libzstd.
#include "byte_source.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 18;

struct Closer {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

}  // namespace

struct ByteSource::Impl {
  std::string path;
  std::unique_ptr<std::FILE, Closer> file;
  std::uint64_t size = 0, taken = 0, given = 0;
  enum class Kind : unsigned char { plain, gzip, zstd } kind = Kind::plain;
  std::vector<char> in = std::vector<char>(chunk);
  std::size_t begin = 0, end = 0;
  z_stream z{};
  bool z_open = false, over = false;
  ZSTD_DStream* zs = nullptr;
  bool frame_open = false;

  ~Impl() {
    if (z_open) inflateEnd(&z);
    if (zs != nullptr) ZSTD_freeDStream(zs);
  }

  bool refill() {
    if (begin < end) return true;
    begin = 0;
    end = std::fread(in.data(), 1, in.size(), file.get());
    if (end == 0 && std::ferror(file.get()) != 0) {
      over = true;
      throw sim::InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
    }
    taken += end;
    return end > 0;
  }

  [[noreturn]] void damaged(std::string_view why) {
    over = true;
    throw sim::InputError(fmt::format("{}: damaged at byte {}: {}", path, taken - (end - begin), why),
                          "what was read before it is intact; compress or copy the file again");
  }

  std::size_t plain(char* into, std::size_t n) {
    if (!refill()) return 0;
    const auto some = std::min(n, end - begin);
    std::memcpy(into, in.data() + begin, some);
    begin += some;
    return some;
  }

  std::size_t gzip(char* into, std::size_t n) {
    z.next_out = reinterpret_cast<Bytef*>(into);
    z.avail_out = static_cast<uInt>(std::min<std::size_t>(n, 1u << 30));
    const auto room = z.avail_out;
    while (z.avail_out == room) {
      if (!refill()) {
        if (frame_open) damaged("it ends inside a gzip member");
        return 0;
      }
      z.next_in = reinterpret_cast<Bytef*>(in.data() + begin);
      z.avail_in = static_cast<uInt>(end - begin);
      frame_open = true;
      const int result = inflate(&z, Z_NO_FLUSH);
      begin = end - z.avail_in;
      if (result == Z_STREAM_END) {
        frame_open = false;
        inflateReset(&z);
        // Another member, or padding after the last.
        if (begin < end && static_cast<unsigned char>(in[begin]) != 0x1f) begin = end;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        damaged(z.msg != nullptr ? z.msg : "not gzip");
      }
    }
    return room - z.avail_out;
  }

  std::size_t zstd(char* into, std::size_t n) {
    ZSTD_outBuffer out{into, n, 0};
    while (out.pos == 0) {
      if (!refill()) {
        if (frame_open) damaged("it ends inside a zstd frame");
        return 0;
      }
      ZSTD_inBuffer input{in.data() + begin, end - begin, 0};
      const auto left = ZSTD_decompressStream(zs, &out, &input);
      if (ZSTD_isError(left) != 0) damaged(ZSTD_getErrorName(left));
      begin += input.pos;
      frame_open = left != 0;
    }
    return out.pos;
  }
};

ByteSource::ByteSource(const std::string& path) : impl_{std::make_unique<Impl>()} {
  auto& m = *impl_;
  m.path = path;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw sim::InputError(fmt::format("{}: is a folder", path));
  m.file.reset(std::fopen(path.c_str(), "rb"));
  if (!m.file) throw sim::InputError(fmt::format("{}: {}", path, std::strerror(errno)));
  m.size = static_cast<std::uint64_t>(std::filesystem::file_size(path, error));
  if (error) m.size = 0;
  m.refill();
  const auto byte = [&](std::size_t i) { return i < m.end ? static_cast<unsigned char>(m.in[i]) : 0u; };
  if (byte(0) == 0x1f && byte(1) == 0x8b) {
    m.kind = Impl::Kind::gzip;
    m.z_open = inflateInit2(&m.z, 15 + 16) == Z_OK;
  } else if (byte(0) == 0x28 && byte(1) == 0xb5 && byte(2) == 0x2f && byte(3) == 0xfd) {
    m.kind = Impl::Kind::zstd;
    m.zs = ZSTD_createDStream();
    ZSTD_initDStream(m.zs);
  }
}
ByteSource::~ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;

std::size_t ByteSource::read(char* into, std::size_t size) {
  auto& m = *impl_;
  if (m.over || size == 0) return 0;
  const auto n = m.kind == Impl::Kind::plain  ? m.plain(into, size)
                 : m.kind == Impl::Kind::gzip ? m.gzip(into, size)
                                              : m.zstd(into, size);
  m.given += n;
  return n;
}

std::uint64_t ByteSource::position() const { return impl_->given; }
std::uint64_t ByteSource::file_position() const { return impl_->taken; }
std::uint64_t ByteSource::file_size() const { return impl_->size; }
const std::string& ByteSource::path() const { return impl_->path; }

std::string read_whole(const std::string& path, std::size_t most) {
  ByteSource source{path};
  std::string out;
  std::vector<char> some(chunk);
  while (const auto n = source.read(some.data(), some.size())) {
    if (out.size() + n > most)
      throw sim::InputError(fmt::format("{}: larger than {} MiB", path, most >> 20), "split the file");
    out.append(some.data(), n);
  }
  return out;
}

}  // namespace linkcast::workloads::readers
