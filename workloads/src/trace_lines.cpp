// A trace as JSON Lines, read as it is needed: the file may be larger than memory. Lines of several ranks stand in
// the order in which they are issued, about in step: what one rank reads ahead of the others is kept.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "trace_ops.hpp"
#include "trace_read.hpp"

namespace linkcast::workloads::trace {
namespace {

constexpr std::size_t most_kept = 4'000'000;  // operations: some hundred MB
constexpr std::size_t longest_line = 1u << 20;
constexpr std::string_view extra_keys[] = {"rank", "ranks"};

/// The file once more, to quote lines from it, where that is cheap.
Source quoted(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  auto source = std::make_shared<SourceText>();
  source->name = path;
  if (!error && size <= max_yaml_bytes) {
    std::ifstream in{path, std::ios::binary};
    source->text.assign(std::istreambuf_iterator<char>{in}, {});
  }
  return source;
}

class LineFile {
 public:
  explicit LineFile(Source source) : source_{std::move(source)}, in_{source_->name, std::ios::binary} {}

  const Source& source() const { return source_; }
  int number() const { return number_; }
  const std::string& line() const { return line_; }
  bool next() {
    do {
      if (!std::getline(in_, line_)) return false;
      ++number_;
      if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    } while (line_.find_first_not_of(" \t") == std::string::npos);
    return true;
  }
  /// `read(value, problems)` gets the fast parse; where that finds a problem, once more a parse that knows columns.
  template <typename Read>
  void parse(Problems& problems, const Read& read) const {
    if (line_.size() > longest_line) {
      problems.add(Place{source_, number_, 1, 1}, "a line of more than 1 MiB", "one operation to a line");
      return;
    }
    Problems coarse;
    const auto value = parse_json_line(source_, line_, number_, coarse);
    if (!coarse.empty() && value.kind == Value::Kind::null) {
      (void)parse_json_line(source_, line_, number_, problems);  // not JSON at all: the column is known
      return;
    }
    if (coarse.empty()) read(value, coarse);
    if (coarse.empty()) return;
    const auto before = problems.count();
    const auto located = parse_yaml_line(source_, line_, number_, problems);
    if (problems.count() == before) read(located, problems);
    if (problems.count() == before && !problems.full()) {
      problems.add(Place{source_, number_, 1, 1}, "this line cannot be understood");
    }
  }

 private:
  Source source_;
  std::ifstream in_;
  std::string line_;
  int number_ = 0;
};

class LineReader final : public TraceReader {
 public:
  LineReader(Source source, int ranks, std::shared_ptr<const std::vector<TraceCommunicator>> communicators)
      : file_{std::move(source)}, ranks_{ranks}, communicators_{std::move(communicators)} {
    kept_.resize(static_cast<std::size_t>(ranks));
    file_.next();  // the head
  }

  std::shared_ptr<const TraceOp> next(int rank) override {
    auto& own = kept_[static_cast<std::size_t>(rank)];
    while (own.empty() && !ended_) {
      if (file_.next()) {
        read_line();
      } else {
        ended_ = true;
        problems_.throw_if_any();
      }
      if (problems_.full()) problems_.throw_if_any();
    }
    if (own.empty()) return nullptr;
    auto op = std::move(own.front());
    own.pop_front();
    --count_;
    return op;
  }

 private:
  void read_line() {
    file_.parse(problems_, [this](const Value& v, Problems& problems) {
      std::vector<int> ranks;
      if (const auto* one = v.get("rank")) {
        ranks = ranks_of(problems, *one, "'rank'", ranks_);
        if (v.get("ranks") != nullptr) problems.add(*v.get("ranks"), "'rank' and 'ranks' in one line", "write one");
      } else if (const auto* several = v.get("ranks")) {
        ranks = ranks_of(problems, *several, "'ranks'", ranks_);
      } else {
        problems.add(v, "no 'rank' in this line", "write \"rank\": 0 or \"ranks\": [0, 1]");
      }
      auto op = read_op({problems, *communicators_, ranks}, v, extra_keys);
      if (!problems.empty()) return;
      for (const int r : ranks) kept_[static_cast<std::size_t>(r)].push_back(op);
      count_ += ranks.size();
    });
    if (count_ > most_kept) {
      problems_.add(Place{file_.source(), file_.number(), 1, 1},
                    fmt::format("{} operations before this line wait for a rank that has none so far", count_),
                    "write the lines of all ranks in the order of time, not rank after rank");
      problems_.throw_if_any();
    }
  }

  LineFile file_;
  int ranks_;
  std::shared_ptr<const std::vector<TraceCommunicator>> communicators_;
  Problems problems_;
  std::vector<std::deque<std::shared_ptr<const TraceOp>>> kept_;
  std::size_t count_ = 0;
  bool ended_ = false;
};

}  // namespace

Trace read_line_trace(Problems& problems, const std::string& path, int available) {
  Trace trace;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw sim::InputError(
        {{{path, 0, 0, 1}, std::filesystem::exists(path, error) ? "is not a file" : "no such file", ""}}, {});
  }
  const auto source = quoted(path);
  LineFile file{source};
  trace.ranks = available;
  if (!file.next()) {
    problems.add(Place{source, 1, 1, 1}, "nothing in it",
                 "the first line is {\"schema\": \"linkcast.trace/1\", \"ranks\": 8}");
  } else {
    file.parse(problems, [&](const Value& v, Problems& found) {
      Fields f{found, v, "the head of the trace"};
      const auto schema = f.word("schema");
      if (!schema || *schema != "linkcast.trace/1") {
        found.add(schema ? *v.get("schema") : v, "not a Linkcast trace",
                  "the first line is {\"schema\": \"linkcast.trace/1\", \"ranks\": 8}");
        return;
      }
      const auto most = available < 0 ? 1'000'000 : available;
      if (const auto n = f.integer("ranks", 1, most)) trace.ranks = static_cast<int>(*n);
      trace.communicators = read_communicators(found, f.find("communicators"), trace.ranks);
      f.done();
    });
  }
  auto communicators = std::make_shared<const std::vector<TraceCommunicator>>(trace.communicators);
  trace.open = [source, ranks = std::max(trace.ranks, 0), communicators] {
    return std::make_unique<LineReader>(source, ranks, communicators);
  };
  return trace;
}

}  // namespace linkcast::workloads::trace
