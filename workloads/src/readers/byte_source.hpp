// A file as its bytes, decompressed on the way: plain, gzip or zstd, told by the first bytes. Bounded memory. Knows no
// format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace linkcast::workloads::readers {

class ByteSource {
 public:
  /// Throws sim::InputError: missing, a folder, not readable.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;

  /// Up to `size` bytes; 0 at the end. Throws sim::InputError where the compressed stream is damaged, with what was
  /// read before intact: call it again and it says 0.
  std::size_t read(char* into, std::size_t size);
  std::uint64_t position() const;       // bytes given so far
  std::uint64_t file_position() const;  // of the file as it lies on the disk, for progress
  std::uint64_t file_size() const;
  const std::string& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The whole file, decompressed. Throws sim::InputError beyond `most` bytes.
std::string read_whole(const std::string& path, std::size_t most);

}  // namespace linkcast::workloads::readers
