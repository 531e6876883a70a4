// Arrays of megabytes that are touched here and there: on large pages where the system has them, because looking up
// small pages costs as much as the memory itself. Only where the memory comes from; otherwise std::vector.
#pragma once

#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace linkcast::sim::packet {

template <class T>
struct LargePages {
  using value_type = T;
  static constexpr std::size_t page = std::size_t{2} << 20;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(std::size_t n) {
    std::size_t bytes = n * sizeof(T);
    const bool large = bytes >= page;
    const std::size_t align = large ? page : 64;
    bytes = (bytes + align - 1) / align * align;
    void* memory = std::aligned_alloc(align, bytes);
    if (memory == nullptr) throw std::bad_alloc{};
#ifdef MADV_HUGEPAGE
    if (large) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: nothing depends on it
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }

  template <class U>
  bool operator==(const LargePages<U>&) const {
    return true;
  }
};

template <class T>
using LargeArray = std::vector<T, LargePages<T>>;

}  // namespace linkcast::sim::packet
