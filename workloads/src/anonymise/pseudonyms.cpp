// See pseudonyms.hpp. The hash is SipHash-2-4 (Aumasson and Bernstein, 2012): without the key nobody can try names.
#include "pseudonyms.hpp"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <random>

namespace linkcast::workloads::anonymising {
namespace {

std::uint64_t siphash(std::uint64_t k0, std::uint64_t k1, std::string_view text) {
  std::uint64_t v0 = k0 ^ 0x736f6d6570736575ULL, v1 = k1 ^ 0x646f72616e646f6dULL;
  std::uint64_t v2 = k0 ^ 0x6c7967656e657261ULL, v3 = k1 ^ 0x7465646279746573ULL;
  const auto round = [&] {
    v0 += v1, v1 = std::rotl(v1, 13), v1 ^= v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16), v3 ^= v2;
    v0 += v3, v3 = std::rotl(v3, 21), v3 ^= v0;
    v2 += v1, v1 = std::rotl(v1, 17), v1 ^= v2, v2 = std::rotl(v2, 32);
  };
  std::uint64_t m = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    m |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i % 8));
    if (i % 8 != 7) continue;
    v3 ^= m, round(), round(), v0 ^= m;
    m = 0;
  }
  m |= std::uint64_t{text.size() & 0xff} << 56;
  v3 ^= m, round(), round(), v0 ^= m;
  v2 ^= 0xff, round(), round(), round(), round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace

Pseudonyms::Pseudonyms(std::string_view key) {
  if (key.empty()) {
    std::random_device random;
    const auto wide = [&] { return std::uint64_t{random()} << 32 ^ random(); };
    k0_ = wide(), k1_ = wide();
  } else {
    k0_ = siphash(0, 1, key), k1_ = siphash(2, 3, key);
  }
}

std::uint64_t Pseudonyms::hash(std::string_view kind, std::string_view text) const {
  return siphash(k0_, k1_, fmt::format("{}\n{}", kind, text));
}

std::string* Pseudonyms::known(std::string_view kind, std::string_view text) {
  auto at = made_.find(kind);
  if (at == made_.end()) at = made_.emplace(std::string{kind}, std::unordered_map<std::string, std::string>{}).first;
  const auto found = at->second.find(std::string{text});
  if (found != at->second.end()) return &found->second;
  ++count_[std::string{kind}];
  return nullptr;
}

std::string Pseudonyms::word(std::string_view kind, std::string_view text) {
  if (const auto* same = known(kind, text)) return *same;
  auto out = fmt::format("{}-{:010x}", kind, hash(kind, text) & 0xff'ffff'ffffULL);
  made_.find(kind)->second[std::string{text}] = out;
  return out;
}

std::string Pseudonyms::number(std::string_view kind, std::string_view digits) {
  if (const auto* same = known(kind, digits)) return *same;
  std::uint64_t least = 1;
  for (std::size_t i = 1; i < digits.size() && i < 18; ++i) least *= 10;
  const auto room = least * 9;
  auto n = hash(kind, digits) % room;
  auto& taken = taken_[std::string{kind}];
  auto out = fmt::format("{}", least + n);
  while (!taken.insert(out).second) out = fmt::format("{}", least + (n = (n + 1) % room));
  made_.find(kind)->second[std::string{digits}] = out;
  return out;
}

std::string Pseudonyms::hex(std::string_view kind, std::string_view text) {
  std::string plain;  // upper and lower case are one
  for (const char c : text) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (const auto* same = known(kind, plain)) return *same;
  std::string out{text};
  std::uint64_t bits = 0;
  int left = 0, block = 0;
  for (std::size_t i = text.starts_with("0x") ? 2 : 0; i < out.size(); ++i) {
    if (std::isxdigit(static_cast<unsigned char>(out[i])) == 0) continue;
    if (left == 0) bits = hash(kind, fmt::format("{}#{}", plain, block++)), left = 16;
    out[i] = "0123456789abcdef"[bits & 0xf];
    bits >>= 4, --left;
  }
  made_.find(kind)->second[plain] = out;
  return out;
}

std::string Pseudonyms::ipv4(std::string_view text) {
  if (const auto* same = known("address", text)) return *same;
  auto n = hash("address", text) & 0xff'ffff;
  const auto write = [&] { return fmt::format("10.{}.{}.{}", n >> 16, n >> 8 & 0xff, n & 0xff); };
  auto& taken = taken_["address"];
  auto out = write();
  while (!taken.insert(out).second) n = (n + 1) & 0xff'ffff, out = write();
  made_.find(std::string_view{"address"})->second[std::string{text}] = out;
  return out;
}

}  // namespace linkcast::workloads::anonymising
