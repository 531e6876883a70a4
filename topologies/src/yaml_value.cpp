// See yaml_value.hpp. yaml-cpp's event interface is used, not its node graph: events carry every mark, show duplicate
// keys (the node graph drops them in silence), and let depth and size be bounded while reading.
#include "yaml_value.hpp"

#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>

namespace linkcast::topologies {

const Value::Entry* Value::entry(std::string_view key) const {
  for (const auto& e : entries) {
    if (e.key.text == key) return &e;
  }
  return nullptr;
}
const Value* Value::get(std::string_view key) const {
  const auto* e = entry(key);
  return e ? &e->value : nullptr;
}
Value* Value::get(std::string_view key) { return const_cast<Value*>(std::as_const(*this).get(key)); }

namespace {

/// More problems than anybody reads; the rest of a hopeless file is not worth the memory.
constexpr std::size_t max_problems = 200;

bool starts_with_tab(std::string_view text, int line) {
  std::size_t at = 0;
  while (line-- > 0 && at != std::string_view::npos) {
    at = text.find('\n', at);
    if (at != std::string_view::npos) ++at;
  }
  if (at == std::string_view::npos) return false;
  const auto indent = text.substr(at, text.find_first_not_of(" \t", at) - at);
  return indent.find('\t') != std::string_view::npos;
}

struct Refused {};  // leaves the parser after a bound was hit; the problem has been recorded

/// Reads from memory without copying the text once more.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    auto* begin = const_cast<char*>(text.data());  // setg wants char*; a get area is never written
    setg(begin, begin, begin + text.size());
  }
};

class Builder : public YAML::EventHandler {
 public:
  Builder(const Source& file, Problems& problems, int line_offset)
      : file_{file}, problems_{problems}, offset_{line_offset} {}

  Value take() { return std::move(root_); }
  void forget() { root_ = Value{}; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(make(mark, Value::Kind::null), anchor, mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    auto v = make(mark, Value::Kind::scalar);
    v.text = text;
    v.quoted = tag == "!";
    finish(std::move(v), anchor, mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      problems_.add(file_, line(mark), column(mark), "an alias inside the value that it names",
                    "write the value out; a file cannot contain itself");
      throw Refused{};
    }
    grow(known->second.size, mark);
    auto copy = known->second.value;
    finish(std::move(copy), 0, mark, known->second.size - 1);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, Value::Kind::sequence, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, Value::Kind::map, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Value value;
    YAML::anchor_t anchor = 0;
    std::size_t size = 1;
    bool have_key = false;
    Value key;
    YAML::Mark mark;
    std::map<std::string, int, std::less<>> lines;  // of the keys so far
  };
  struct Anchored {
    Value value;
    std::size_t size;
  };

  int line(const YAML::Mark& m) const { return m.line + 1 + offset_; }
  static int column(const YAML::Mark& m) { return m.column + 1; }

  Value make(const YAML::Mark& mark, Value::Kind kind) const {
    Value v;
    v.kind = kind;
    v.source = file_.get();
    v.line = line(mark);
    v.column = column(mark);
    return v;
  }

  void grow(std::size_t n, const YAML::Mark& mark) {
    total_ += n;
    if (total_ <= max_values) return;
    problems_.add(file_, line(mark), column(mark),
                  fmt::format("more than {} values once aliases are written out", max_values),
                  "no topology needs so many: use counts and templates");
    throw Refused{};
  }

  void open(const YAML::Mark& mark, Value::Kind kind, YAML::anchor_t anchor) {
    if (static_cast<int>(stack_.size()) >= max_nesting) {
      problems_.add(file_, line(mark), column(mark), fmt::format("nested more than {} levels deep", max_nesting),
                    "no topology needs such depth: is a bracket not closed?");
      throw Refused{};
    }
    Open o;
    o.value = make(mark, kind);
    o.anchor = anchor;
    o.mark = mark;
    stack_.push_back(std::move(o));
  }

  void close() {
    auto o = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(o.value), o.anchor, o.mark, o.size - 1);
  }

  /// A value is complete: it goes to whatever is open. `inside`: values below it.
  void finish(Value v, YAML::anchor_t anchor, const YAML::Mark& mark, std::size_t inside = 0) {
    grow(1, mark);
    if (anchor) {
      grow(inside + 1, mark);  // the kept copy is memory too
      anchors_[anchor] = {v, inside + 1};
    }
    if (stack_.empty()) {
      root_ = std::move(v);
      return;
    }
    auto& top = stack_.back();
    top.size += inside + 1;
    if (top.value.kind == Value::Kind::sequence) {
      top.value.items.push_back(std::move(v));
    } else if (!top.have_key) {
      top.key = std::move(v);
      top.have_key = true;
    } else {
      top.have_key = false;
      add_entry(top, std::move(v));
    }
  }

  void add_entry(Open& top, Value v) {
    if (!top.key.is_scalar()) {
      problems_.add(top.key, "a key must be a word", "write `name: value`");
      return;
    }
    const auto [first, fresh] = top.lines.try_emplace(top.key.text, top.key.line);
    if (!fresh) {
      problems_.add(top.key, fmt::format("duplicate key '{}'", top.key.text),
                    fmt::format("first written in line {}: keep one of them", first->second));
      return;
    }
    if (top.value.entries.size() >= max_keys) {
      problems_.add(top.key, fmt::format("more than {} keys in one map", max_keys));
      throw Refused{};
    }
    top.value.entries.push_back({std::move(top.key), std::move(v)});
  }

  const Source& file_;
  Problems& problems_;
  int offset_;
  Value root_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t total_ = 0;
};

}  // namespace

Value parse_yaml(const Source& file, std::string_view text, Problems& problems, int line_offset) {
  // yaml-cpp reads ahead to the end of an open bracket before it reports anything: bound it beforehand. Every bracket
  // opens a value, so that no file within max_values has more.
  const auto brackets = std::ranges::count_if(text, [](char c) { return c == '[' || c == '{'; });
  if (static_cast<std::size_t>(brackets) > max_values) {
    problems.add(file, 1, 1, fmt::format("more than {} lists and maps", max_values),
                 "no topology needs so many: is a bracket not closed?");
    return {};
  }
  Builder builder{file, problems, line_offset};
  ViewBuffer buffer{text};
  std::istream in{&buffer};
  try {
    YAML::Parser parser{in};
    parser.HandleNextDocument(builder);
    auto root = builder.take();
    Problems ignored;
    Builder second{file, ignored, line_offset};
    if (parser.HandleNextDocument(second)) {
      const auto extra = second.take();
      problems.add(file, extra.source ? extra.line : 1, 1, "a second document in the file", "one topology to a file");
    }
    return root;
  } catch (const YAML::Exception& e) {
    const auto where = e.mark.is_null() ? YAML::Mark{} : e.mark;
    const bool deep = dynamic_cast<const YAML::DeepRecursion*>(&e) != nullptr;
    problems.add(file, where.line + 1 + line_offset, where.column + 1,
                 deep ? std::string{"nested too deeply"} : "not valid YAML: " + e.msg,
                 deep                                ? "is a bracket not closed?"
                 : starts_with_tab(text, where.line) ? "indent with spaces: YAML does not allow tabs"
                                                     : "check indentation, brackets, quotes and colons on this line");
  } catch (const Refused&) {
  }
  return {};
}

void Problems::add(const Value& at, std::string problem, std::string help) {
  if (found_.size() >= max_problems) return;
  const int length = at.is_scalar() ? std::max(1, static_cast<int>(std::min<std::size_t>(at.text.size(), 80))) : 1;
  found_.push_back({at.source,
                    {{at.source ? at.source->name : std::string{}, at.line, at.column, length + (at.quoted ? 2 : 0)},
                     std::move(problem),
                     std::move(help)}});
}

void Problems::add(const Source& file, int line, int column, std::string problem, std::string help) {
  if (found_.size() >= max_problems) return;
  found_.push_back({file.get(), {{file->name, line, column, 1}, std::move(problem), std::move(help)}});
}

bool Problems::full() const { return found_.size() >= max_problems; }

void Problems::throw_if_any() const {
  if (found_.empty()) return;
  // The catalog is sound: a problem there is the consequence of one in a user's file.
  const SourceText* chosen = nullptr;
  const auto choose = [&](bool catalog) {
    for (const auto& file : files_) {
      if (chosen || file->catalog != catalog) continue;
      if (std::ranges::any_of(found_, [&](const Found& f) { return f.file == file.get(); })) chosen = file.get();
    }
  };
  choose(false);
  choose(true);
  if (!chosen) chosen = found_.front().file;
  std::vector<sim::Diagnostic> of_file;
  for (const auto& f : found_) {
    const auto same = [&](const sim::Diagnostic& d) {
      return d.at.line == f.diagnostic.at.line && d.at.column == f.diagnostic.at.column &&
             d.problem == f.diagnostic.problem;
    };
    if (f.file == chosen && std::ranges::none_of(of_file, same)) of_file.push_back(f.diagnostic);
  }
  throw sim::InputError(std::move(of_file), chosen ? std::string_view{chosen->text} : std::string_view{});
}

}  // namespace linkcast::topologies
