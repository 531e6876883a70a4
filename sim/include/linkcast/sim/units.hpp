// Time, sizes and rates as types. Every quantity that has a unit crosses a header as one of these;
// a bare double is only for ratios and for printing. Knows nothing about links or GPUs.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace linkcast::sim {

/// A point in or span of simulated time, in whole picoseconds. Range about +-106 days.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time picoseconds(std::int64_t n) { return Time{n}; }
  static constexpr Time nanoseconds(std::int64_t n) { return Time{n * 1'000}; }
  static constexpr Time microseconds(std::int64_t n) { return Time{n * 1'000'000}; }
  /// Rounds to the nearest picosecond; for numbers that come from files or fits.
  static constexpr Time from_us(double us) { return Time{static_cast<std::int64_t>(us * 1e6 + (us < 0 ? -0.5 : 0.5))}; }
  static constexpr Time max() { return Time{std::numeric_limits<std::int64_t>::max()}; }

  constexpr std::int64_t ps() const { return ps_; }
  constexpr double us() const { return static_cast<double>(ps_) * 1e-6; }        // reports only
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }  // reports only

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time& operator+=(Time o) {
    ps_ += o.ps_;
    return *this;
  }
  constexpr Time& operator-=(Time o) {
    ps_ -= o.ps_;
    return *this;
  }
  friend constexpr Time operator+(Time a, Time b) { return Time{a.ps_ + b.ps_}; }
  friend constexpr Time operator-(Time a, Time b) { return Time{a.ps_ - b.ps_}; }
  friend constexpr Time operator*(Time a, std::int64_t k) { return Time{a.ps_ * k}; }
  friend constexpr Time operator*(std::int64_t k, Time a) { return Time{a.ps_ * k}; }
  friend constexpr Time operator/(Time a, std::int64_t k) { return Time{a.ps_ / k}; }

 private:
  constexpr explicit Time(std::int64_t ps) : ps_{ps} {}
  std::int64_t ps_ = 0;
};

/// A payload or wire size. Never bits, never packets.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t n) : n_{n} {}
  constexpr std::int64_t count() const { return n_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes o) {
    n_ += o.n_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes o) {
    n_ -= o.n_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.n_ + b.n_}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.n_ - b.n_}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t k) { return Bytes{a.n_ * k}; }
  friend constexpr Bytes operator*(std::int64_t k, Bytes a) { return Bytes{a.n_ * k}; }
  friend constexpr std::int64_t operator/(Bytes a, Bytes b) { return a.n_ / b.n_; }
  friend constexpr Bytes operator/(Bytes a, std::int64_t k) { return Bytes{a.n_ / k}; }

 private:
  std::int64_t n_ = 0;
};

constexpr Bytes kib(std::int64_t n) { return Bytes{n << 10}; }
constexpr Bytes mib(std::int64_t n) { return Bytes{n << 20}; }
constexpr Bytes gib(std::int64_t n) { return Bytes{n << 30}; }

/// Bytes per second in one direction of one link. Never bits, never both directions summed.
class Rate {
 public:
  constexpr Rate() = default;
  static constexpr Rate bytes_per_second(std::int64_t n) { return Rate{n}; }
  static constexpr Rate from_GBps(double v) { return Rate{static_cast<std::int64_t>(v * 1e9 + 0.5)}; }
  static constexpr Rate unlimited() { return Rate{std::numeric_limits<std::int64_t>::max()}; }
  constexpr bool is_unlimited() const { return *this == unlimited(); }
  constexpr std::int64_t bytes_per_second() const { return n_; }
  constexpr double GBps() const { return static_cast<double>(n_) * 1e-9; }  // 1 GB = 10^9 B
  constexpr auto operator<=>(const Rate&) const = default;
  /// A ratio of a rate: an efficiency, a share. Rounds to the nearest byte per second.
  friend constexpr Rate operator*(Rate a, double ratio) {
    return Rate{static_cast<std::int64_t>(static_cast<double>(a.n_) * ratio + 0.5)};
  }
  friend constexpr Rate operator+(Rate a, Rate b) { return Rate{a.n_ + b.n_}; }

 private:
  constexpr explicit Rate(std::int64_t n) : n_{n} {}
  std::int64_t n_ = 0;
};

/// Serialisation time, rounded up so that nothing ever moves faster than its rate. Requires rate > 0.
constexpr Time transfer_time(Bytes size, Rate rate) {
  if (rate.is_unlimited()) return Time{};
  __extension__ using Wide = __int128;
  const auto n = static_cast<Wide>(size.count()) * 1'000'000'000'000;
  const auto r = static_cast<Wide>(rate.bytes_per_second());
  return Time::picoseconds(static_cast<std::int64_t>((n + r - 1) / r));
}

namespace literals {
constexpr Time operator""_ps(unsigned long long n) { return Time::picoseconds(static_cast<std::int64_t>(n)); }
constexpr Time operator""_ns(unsigned long long n) { return Time::nanoseconds(static_cast<std::int64_t>(n)); }
constexpr Time operator""_us(unsigned long long n) { return Time::microseconds(static_cast<std::int64_t>(n)); }
constexpr Bytes operator""_B(unsigned long long n) { return Bytes{static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return kib(static_cast<std::int64_t>(n)); }
constexpr Bytes operator""_MiB(unsigned long long n) { return mib(static_cast<std::int64_t>(n)); }
constexpr Bytes operator""_GiB(unsigned long long n) { return gib(static_cast<std::int64_t>(n)); }
constexpr Rate operator""_GBps(unsigned long long n) {
  return Rate::bytes_per_second(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr Rate operator""_GBps(long double v) { return Rate::from_GBps(static_cast<double>(v)); }
}  // namespace literals

}  // namespace linkcast::sim
