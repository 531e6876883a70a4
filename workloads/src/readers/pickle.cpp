// See value_tree.hpp. The machine of Python's pickle with the instructions that make data and no others. Source:
// CPython, Lib/pickletools.py. Whoever can write a pickle can have Python run anything; here there is nothing that
// could run.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "linkcast/sim/diagnostic.hpp"
#include "value_tree.hpp"

namespace linkcast::workloads::readers {
namespace {

using Kind = Datum::Kind;

/// The file is over, or says something that is not an instruction: what came before stands.
struct Ended {
  std::string why;
};

class Machine {
 public:
  Machine(std::string_view bytes, std::string_view path, Document& document)
      : bytes_{bytes}, path_{path}, document_{document} {}

  void run() {
    try {
      while (step()) {
      }
      if (stack_.empty()) throw Ended{"it ends with nothing"};
      document_.root = stack_.back();
    } catch (const Ended& e) {
      document_.problem = e.why;
      document_.position = instruction_;
      salvage();
    }
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw sim::InputError(
        {{{std::string{path_}, 0, 0, 1},
          fmt::format("byte {}: this pickle wants to {}: refused", instruction_, what),
          "a flight recorder's dump is made of numbers, texts, lists and dictionaries only: do not load this file "
          "elsewhere; _dump_nccl_trace_json writes JSON"}},
        {});
  }

  std::string_view take(std::uint64_t n) {
    if (n > bytes_.size() - at_) throw Ended{"the file is cut"};
    const auto out = bytes_.substr(at_, static_cast<std::size_t>(n));
    at_ += static_cast<std::size_t>(n);
    return out;
  }
  std::string_view line() {
    const auto end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) throw Ended{"the file is cut"};
    auto out = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    if (!out.empty() && out.back() == '\r') out.remove_suffix(1);
    return out;
  }
  std::uint64_t little(std::size_t n) {
    const auto raw = take(n);
    std::uint64_t out = 0;
    for (std::size_t i = n; i-- > 0;) out = out << 8 | static_cast<unsigned char>(raw[i]);
    return out;
  }

  Datum* top() {
    if (stack_.empty() || (!marks_.empty() && marks_.back() >= stack_.size())) throw Ended{"its stack is empty"};
    return stack_.back();
  }
  Datum* pop() {
    auto* d = top();
    stack_.pop_back();
    return d;
  }
  void push(Datum* d) { stack_.push_back(d); }
  Datum* push(Kind kind) {
    stack_.push_back(document_.add(kind));
    return stack_.back();
  }
  std::size_t mark() {
    if (marks_.empty()) throw Ended{"a mark is missing"};
    const auto m = marks_.back();
    marks_.pop_back();
    return m;
  }
  void whole(std::int64_t v) { push(Kind::integer)->integer = v; }
  void text(std::string_view v) { push(Kind::text)->text = v; }

  void extend(Datum* into, std::size_t from) {
    if (into->kind == Kind::list) {
      into->items.insert(into->items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    } else if (into->kind == Kind::map) {
      for (auto i = from; i + 1 < stack_.size(); i += 2) set(into, stack_[i], stack_[i + 1]);
    }
    stack_.resize(from);
  }
  static void set(Datum* map, const Datum* key, Datum* value) {
    if (map->kind != Kind::map) throw Ended{"an item is set of what is no dictionary"};
    // A short file can name one long key very often: keys are copied, so that they are bounded.
    if (key->kind == Kind::text)
      map->entries.emplace_back(key->text.substr(0, 256), value);
    else if (key->kind == Kind::integer)
      map->entries.emplace_back(std::to_string(key->integer), value);
  }
  void collect(Kind kind, std::size_t from) {
    auto* d = document_.add(kind);
    extend(d, from);
    push(d);
  }
  void tuple(std::size_t n) {
    const auto floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + n) throw Ended{"its stack is empty"};
    collect(Kind::list, stack_.size() - n);
  }
  void get(std::uint64_t i) {
    const auto found = memo_.find(i);
    if (found == memo_.end()) throw Ended{fmt::format("it recalls {}, which it never stored", i)};
    push(found->second);
  }
  std::uint64_t index(std::string_view w) const {
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), out);
    if (error != std::errc{} || end != w.data() + w.size()) throw Ended{"a number is damaged"};
    return out;
  }

  /// Two's complement, any length; what is beyond 64 bits becomes a real number.
  void big(std::string_view raw) {
    if (raw.size() <= 8) {
      std::uint64_t v = !raw.empty() && (raw.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
      for (std::size_t i = raw.size(); i-- > 0;) v = v << 8 | static_cast<unsigned char>(raw[i]);
      whole(static_cast<std::int64_t>(v));
      return;
    }
    double v = 0;
    for (std::size_t i = raw.size(); i-- > 0;) v = v * 256 + static_cast<unsigned char>(raw[i]);
    push(Kind::real)->real = v;
  }
  void decimal(std::string_view w) {
    if (!w.empty() && w.back() == 'L') w.remove_suffix(1);
    std::int64_t v = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), v);
    if (error == std::errc{} && end == w.data() + w.size())
      whole(v);
    else
      real(w);
  }
  void real(std::string_view w) { push(Kind::real)->real = std::strtod(std::string{w}.c_str(), nullptr); }
  void quoted(std::string_view w) {
    if (w.size() >= 2 && (w.front() == '\'' || w.front() == '"') && w.back() == w.front())
      w = w.substr(1, w.size() - 2);
    text(w);
  }
  std::string asked() const {
    std::string out;
    for (std::size_t i = stack_.size() < 2 ? 0 : stack_.size() - 2; i < stack_.size(); ++i)
      out += fmt::format("{}{}", out.empty() ? "" : ".", stack_[i]->kind == Kind::text ? stack_[i]->text : "?");
    return out;
  }

  bool step();
  bool protocol_2_and_later(unsigned char code);

  /// What is on the stack belongs to the containers below it.
  void salvage() {
    while (!marks_.empty()) {
      const auto from = std::min(marks_.back(), stack_.size());
      marks_.pop_back();
      if (from == 0) break;
      extend(stack_[from - 1], from);
    }
    // Values that were not yet set: [dictionary, key, container].
    while (stack_.size() > 1) {
      auto* value = stack_.back();
      stack_.pop_back();
      auto* below = stack_.back();
      if (below->kind == Kind::list) {
        below->items.push_back(value);
      } else if (below->kind == Kind::text && stack_.size() > 1 && stack_[stack_.size() - 2]->kind == Kind::map) {
        stack_.pop_back();
        set(stack_.back(), below, value);
      }
    }
    if (!stack_.empty()) document_.root = stack_.front();
  }

  std::string_view bytes_, path_;
  Document& document_;
  std::size_t at_ = 0, instruction_ = 0;
  std::vector<Datum*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Datum*> memo_;
};

bool Machine::step() {
  instruction_ = at_;
  const auto code = static_cast<unsigned char>(take(1)[0]);
  switch (code) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case '.':
      top();
      return false;
    case '0':
      if (!marks_.empty() && marks_.back() == stack_.size())
        marks_.pop_back();
      else
        pop();
      return true;
    case '1':
      stack_.resize(mark());
      return true;
    case '2':
      push(top());
      return true;
    case 'F':
      real(line());
      return true;
    case 'I': {
      const auto w = line();
      if (w == "00" || w == "01")
        push(Kind::boolean)->integer = w == "01" ? 1 : 0;
      else
        decimal(w);
      return true;
    }
    case 'L':
      decimal(line());
      return true;
    case 'J':
      whole(static_cast<std::int32_t>(static_cast<std::uint32_t>(little(4))));
      return true;
    case 'K':
      whole(static_cast<std::int64_t>(little(1)));
      return true;
    case 'M':
      whole(static_cast<std::int64_t>(little(2)));
      return true;
    case 'N':
      push(Kind::none);
      return true;
    case 'S':
      quoted(line());
      return true;
    case 'V':
      text(line());
      return true;
    case 'T':
    case 'X':
    case 'B':
      text(take(little(4)));
      return true;
    case 'U':
    case 'C':
      text(take(little(1)));
      return true;
    case 'G': {
      const auto raw = take(8);
      std::uint64_t bits = 0;
      for (const auto c : raw) bits = bits << 8 | static_cast<unsigned char>(c);
      std::memcpy(&push(Kind::real)->real, &bits, sizeof bits);
      return true;
    }
    case 'a': {
      auto* value = pop();
      if (top()->kind != Kind::list) throw Ended{"an item is appended to what is no list"};
      top()->items.push_back(value);
      return true;
    }
    case 'e':
    case 'u': {
      const auto from = mark();
      if (from == 0 || from > stack_.size()) throw Ended{"its stack is empty"};
      extend(stack_[from - 1], from);
      return true;
    }
    case 's': {
      auto* value = pop();
      const auto* key = pop();
      set(top(), key, value);
      return true;
    }
    case 'd':
    case 'l':
    case 't': {
      const auto from = mark();
      if (from > stack_.size()) throw Ended{"its stack is empty"};
      collect(code == 'd' ? Kind::map : Kind::list, from);
      return true;
    }
    case '}':
      push(Kind::map);
      return true;
    case ']':
    case ')':
      push(Kind::list);
      return true;
    case 'g':
      get(index(line()));
      return true;
    case 'h':
      get(little(1));
      return true;
    case 'j':
      get(little(4));
      return true;
    case 'p':
      memo_[index(line())] = top();
      return true;
    case 'q':
      memo_[little(1)] = top();
      return true;
    case 'r':
      memo_[little(4)] = top();
      return true;
    case 'c': {
      const auto module = line();
      refuse(fmt::format("import {}.{}", module, line()));
    }
    case 'i': {
      const auto module = line();
      refuse(fmt::format("import and call {}.{}", module, line()));
    }
    case 'R':
      refuse(fmt::format("call {} (REDUCE)", asked()));
    case 'b':
      refuse("set the state of an object (BUILD)");
    case 'o':
      refuse("make an object (OBJ)");
    case 'P':
    case 'Q':
      refuse("load an object from elsewhere (PERSID)");
    default:
      return protocol_2_and_later(code);
  }
}

bool Machine::protocol_2_and_later(unsigned char code) {
  switch (code) {
    case 0x80:
      if (const auto protocol = little(1); protocol > 5) throw Ended{fmt::format("protocol {} is not known", protocol)};
      return true;
    case 0x81:
      refuse(fmt::format("make an object of {} (NEWOBJ)", asked()));
    case 0x92:
      refuse("make an object (NEWOBJ_EX)");
    case 0x82:
    case 0x83:
    case 0x84:
      refuse("load a registered extension (EXT)");
    case 0x85:
    case 0x86:
    case 0x87:
      tuple(static_cast<std::size_t>(code) - 0x84);
      return true;
    case 0x88:
    case 0x89:
      push(Kind::boolean)->integer = code == 0x88 ? 1 : 0;
      return true;
    case 0x8a:
      big(take(little(1)));
      return true;
    case 0x8b:
      big(take(little(4)));
      return true;
    case 0x8c:
      text(take(little(1)));
      return true;
    case 0x8d:
    case 0x8e:
    case 0x96:
      text(take(little(8)));
      return true;
    case 0x8f:
      push(Kind::list);
      return true;
    case 0x90: {
      const auto from = mark();
      if (from == 0 || from > stack_.size()) throw Ended{"its stack is empty"};
      extend(stack_[from - 1], from);
      return true;
    }
    case 0x91: {
      const auto from = mark();
      if (from > stack_.size()) throw Ended{"its stack is empty"};
      collect(Kind::list, from);
      return true;
    }
    case 0x93:
      refuse(fmt::format("import {}", asked()));
    case 0x94:
      memo_[memo_.size()] = top();
      return true;
    case 0x95:
      little(8);  // a frame only says how long it is
      return true;
    case 0x97:
    case 0x98:
      refuse("take a buffer from elsewhere (NEXT_BUFFER)");
    default:
      throw Ended{fmt::format("0x{:02x} is no instruction of a pickle", code)};
  }
}

}  // namespace

Document read_pickle(std::string_view bytes, std::string_view path) {
  Document out;
  Machine{bytes, path, out}.run();
  return out;
}

bool looks_like_pickle(std::string_view head) {
  if (head.size() >= 2 && static_cast<unsigned char>(head[0]) == 0x80) return static_cast<unsigned char>(head[1]) <= 5;
  // Protocols 0 and 1 begin with a dictionary or a list: "(dp0", "(lp0", "}q", "]q".
  return head.starts_with("(d") || head.starts_with("(l") || head.starts_with("}q") || head.starts_with("]q");
}

}  // namespace linkcast::workloads::readers
