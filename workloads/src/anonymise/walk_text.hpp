// Goes through a stream of text, JSON or lines, in pieces of any size, and has what is in it scrubbed. Memory: the
// longest string or line. Knows no file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scrub.hpp"

namespace linkcast::workloads::anonymising {

/// `out` gets the text that replaces what was given.
class TextWalk {
 public:
  using Out = std::function<void(std::string_view)>;
  TextWalk(Scrubber& scrubber, Out out, bool json) : scrubber_{scrubber}, out_{std::move(out)}, json_{json} {}
  void give(std::string_view piece);
  void end();

  /// By the first characters of a file.
  static bool looks_like_json(std::string_view head);

 private:
  void give_json(char c);
  void string_done();
  void number_done();
  std::string value(std::string_view raw);
  std::string segments(std::string_view raw);
  bool within(std::string_view key) const;

  Scrubber& scrubber_;
  Out out_;
  bool json_;
  std::string text_;     // the line, the string, the number that is being read
  std::string waiting_;  // to be given to `out`
  enum class State : unsigned char { between, string, escape, number } state_ = State::between;
  struct Level {
    bool object = false;
    bool expects_key = false;
    std::string key;
  };
  std::vector<Level> levels_;
};

}  // namespace linkcast::workloads::anonymising
