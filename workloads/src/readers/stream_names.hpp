// Streams by their names, in the vector that a Recording shares with its readers. A rank that names more of them than
// anybody has (damaged input) gets one stream for the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace linkcast::workloads::readers {

class StreamNames {
 public:
  static constexpr std::size_t most = 1 << 14;
  explicit StreamNames(std::shared_ptr<std::vector<std::string>> all) : all_{std::move(all)} {
    for (std::size_t i = 0; i < all_->size(); ++i) index_.emplace((*all_)[i], static_cast<std::uint32_t>(i));
  }
  std::uint32_t operator()(const std::string& name) {
    if (const auto found = index_.find(name); found != index_.end()) return found->second;
    if (all_->size() >= most) return static_cast<std::uint32_t>(most - 1);
    all_->push_back(name);
    return index_[name] = static_cast<std::uint32_t>(all_->size() - 1);
  }

 private:
  std::shared_ptr<std::vector<std::string>> all_;
  std::unordered_map<std::string, std::uint32_t> index_;
};

}  // namespace linkcast::workloads::readers
