// Stable pseudonyms: the same text under the same key gives the same, and different texts different ones. Knows no
// pattern and no file.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace linkcast::workloads::anonymising {

class Pseudonyms {
 public:
  /// `key` empty: a random one.
  explicit Pseudonyms(std::string_view key);

  /// "host-3f21c0a97b".
  std::string word(std::string_view kind, std::string_view text);
  /// A number with as many digits, another one for every number.
  std::string number(std::string_view kind, std::string_view digits);
  /// Hexadecimal digits for hexadecimal digits; everything else (colons, 0x) stays.
  std::string hex(std::string_view kind, std::string_view text);
  /// 10.x.y.z.
  std::string ipv4(std::string_view text);

  const std::map<std::string, std::int64_t>& count() const { return count_; }

 private:
  std::uint64_t hash(std::string_view kind, std::string_view text) const;
  std::string* known(std::string_view kind, std::string_view text);

  std::uint64_t k0_ = 0, k1_ = 0;
  std::map<std::string, std::unordered_map<std::string, std::string>, std::less<>> made_;  // by kind
  std::map<std::string, std::set<std::string>, std::less<>> taken_;
  std::map<std::string, std::int64_t> count_;
};

}  // namespace linkcast::workloads::anonymising
