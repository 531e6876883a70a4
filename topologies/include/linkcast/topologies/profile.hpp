// Fitted numbers of parts, laid over the catalog's and over a file's own parts: what `linkcast calibrate fit` writes
// and
// `--profile` takes. A profile changes numbers that a part has; it adds no part and joins no devices. Knows neither
// measurements nor how a number was found.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::topologies {

class Cluster;

enum class Unit : unsigned char { rate, time, size, none };  // bytes per second, seconds, bytes, a bare number

/// A number of a part: "gpus.h100-sxm.simple.send" is 22.5 GB/s.
struct PartNumber {
  double value = 0;  // in base units
  Unit unit = Unit::none;
  std::string text, source;
};

class Profile {
 public:
  /// A file of schema `linkcast.profile/1` (docs/formats.md). Throws sim::InputError with every problem: also for parts
  /// that the catalog does not have, and keys that the part does not have.
  static std::shared_ptr<const Profile> parse(std::string_view text, const std::string& where);
  static std::shared_ptr<const Profile> read(const std::string& path);
  /// What the program ships: laid over the catalog's parts whenever they are read. Not to be given as an option.
  static const Profile& shipped();

  /// No numbers of its own, and those that the program ships stay away too: the catalog's own, which are priors.
  static std::shared_ptr<const Profile> priors();

  /// `base` (may be null) with other numbers: path -> value in base units, of the unit that the part's number has.
  /// Throws sim::InputError for a path that is none.
  static std::shared_ptr<const Profile> with(const std::shared_ptr<const Profile>& base,
                                             const std::map<std::string, double>& numbers,
                                             const std::string& source = "given");

  const std::string& name() const;
  const std::string& title() const;
  /// The machine that it was fitted on, in the catalog's name; may be empty.
  const std::string& system() const;
  /// The whole file, for what other rooms keep in it (expected errors, provenance).
  const std::string& text() const;
  /// Paths of all its numbers, sorted.
  std::vector<std::string> paths() const;

  struct Data;  // src/profile_data.hpp
  const Data& data() const { return *data_; }
  explicit Profile(std::shared_ptr<const Data> data) : data_{std::move(data)} {}

 private:
  std::shared_ptr<const Data> data_;
};

/// The number at "gpus.h100-sxm.simple.send" of the catalog with the profiles over it (what a part `extends` counts).
/// Nothing: the part does not say it. Throws sim::InputError for a kind or part that there is not.
std::optional<PartNumber> number_at(std::string_view path, const Profile* profile = nullptr);

/// Where a number is said: "gpus.h200-sxm.simple.send" -> "gpus.h100-sxm.simple.send", which h200-sxm extends. The path
/// itself where no part says it.
std::string origin_of(std::string_view path, const Profile* profile = nullptr);

/// The parts that a cluster is made of: "gpus.h100-sxm", "links.nvlink4", "networks.ib", …, sorted.
std::vector<std::string> parts_of(const Cluster& cluster);

/// As a file says it: "22.5 GB/s", "105 ns", "0.985".
std::string to_text(double value, Unit unit);

}  // namespace linkcast::topologies
