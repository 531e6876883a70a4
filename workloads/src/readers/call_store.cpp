// See call_store.hpp.
#include "call_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {

static_assert(std::is_trivially_copyable_v<StoredCall>);

void CallStore::add(std::size_t rank, const StoredCall& call) {
  if (rank >= ranks_.size()) ranks_.resize(rank + 1);
  auto& r = ranks_[rank];
  if (r.count % per_chunk == 0) r.chunks.emplace_back();
  auto& chunk = r.chunks.back();
  chunk.calls.push_back(call);
  ++r.count;
  if (chunk.calls.size() < per_chunk) return;
  held_ += per_chunk * sizeof(StoredCall);
  if (held_ > most_) spill(chunk);
}

void CallStore::spill(Chunk& chunk) {
  const auto fail = [] {
    throw sim::InputError(fmt::format("the temporary file for calls cannot be written: {}", std::strerror(errno)),
                          "TMPDIR names a folder with room for about 100 bytes a call");
  };
  if (!file_) file_.reset(std::tmpfile());
  if (!file_) fail();
  const auto size = per_chunk * sizeof(StoredCall);
  const auto* from = reinterpret_cast<const char*>(chunk.calls.data());
  for (std::size_t done = 0; done < size;) {
    const auto n = ::pwrite(fileno(file_.get()), from + done, size - done, written_ + static_cast<std::int64_t>(done));
    if (n <= 0) fail();
    done += static_cast<std::size_t>(n);
  }
  chunk.offset = written_;
  written_ += static_cast<std::int64_t>(size);
  held_ -= size;
  std::vector<StoredCall>{}.swap(chunk.calls);
}

std::uint64_t CallStore::total() const {
  std::uint64_t n = 0;
  for (const auto& r : ranks_) n += r.count;
  return n;
}

const StoredCall* CallStore::Cursor::next() {
  if (rank_ >= store_->ranks_.size()) return nullptr;
  const auto& chunks = store_->ranks_[rank_].chunks;
  while (chunk_ < chunks.size()) {
    const auto& chunk = chunks[chunk_];
    const auto* calls = &chunk.calls;
    if (chunk.offset >= 0) {
      if (loaded_chunk_ != chunk_) {
        loaded_.resize(per_chunk);
        const auto size = per_chunk * sizeof(StoredCall);
        auto* into = reinterpret_cast<char*>(loaded_.data());
        for (std::size_t done = 0; done < size;) {
          const auto n = ::pread(fileno(store_->file_.get()), into + done, size - done,
                                 chunk.offset + static_cast<std::int64_t>(done));
          if (n <= 0) throw sim::InputError("the temporary file for calls cannot be read again");
          done += static_cast<std::size_t>(n);
        }
        loaded_chunk_ = chunk_;
      }
      calls = &loaded_;
    }
    if (at_ < calls->size()) return &(*calls)[at_++];
    ++chunk_;
    at_ = 0;
  }
  return nullptr;
}

}  // namespace linkcast::workloads::readers
