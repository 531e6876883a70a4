// See import_matrix.hpp.
#include "import_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "import_text.hpp"
#include "natural_order.hpp"

namespace linkcast::topologies {
namespace {

constexpr std::size_t max_devices = 256;  // columns

struct Token {
  std::string text;
  int column;
};

std::optional<int> number_after(std::string_view word, std::string_view prefix) {
  if (word.size() <= prefix.size() || word.size() > prefix.size() + 4 || word.substr(0, prefix.size()) != prefix)
    return std::nullopt;
  int n = 0;
  for (const char c : word.substr(prefix.size())) {
    if (!std::isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    n = n * 10 + (c - '0');
  }
  return n;
}

std::optional<MatrixCell> cell_of(std::string_view word) {
  constexpr std::array plain{std::pair{"X", PathClass::self},    std::pair{"PIX", PathClass::pix},
                             std::pair{"PXB", PathClass::pxb},   std::pair{"PHB", PathClass::phb},
                             std::pair{"NODE", PathClass::node}, std::pair{"SYS", PathClass::sys},
                             std::pair{"SOC", PathClass::sys}};  // SOC: what SYS was called before 2017
  for (const auto& [name, path] : plain) {
    if (word == name) return MatrixCell{path, 0, 0, 0};
  }
  if (const auto n = number_after(word, "NV"); n && *n >= 1 && *n <= 72) return MatrixCell{PathClass::nvlink, *n, 0, 0};
  return std::nullopt;
}

bool gpu_name(std::string_view word) { return number_after(word, "GPU").has_value(); }

bool affinity_header(std::string_view word) {
  return word == "CPU_Affinity" || word == "NUMA_Affinity" || word == "GPU_NUMA_ID" || word == "Affinity" ||
         word == "CPU" || word == "NUMA";
}

/// "0-31,64-95", "0", "N/A", "ff,ff": what stands behind the cells of a row.
bool affinity_cell(std::string_view word) {
  return word == "N/A" || (!word.empty() && std::isdigit(static_cast<unsigned char>(word.front())));
}

bool device_word(std::string_view word) {
  return !word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) && word.size() <= 40 &&
         std::ranges::all_of(
             word, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':'; }) &&
         word.back() != ':' && !cell_of(word);
}

std::vector<Token> tokens_of(std::string_view line) {
  std::vector<int> columns;
  auto text = without_escapes(line, &columns);
  for (const std::string_view title : {"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"}) {
    for (auto at = text.find(title); at != std::string::npos; at = text.find(title, at + 1)) {
      for (std::size_t i = at; i < at + title.size(); ++i) {
        if (text[i] == ' ') text[i] = '_';
      }
      // Headers that lost the tab before the title ("NIC11CPU Affinity").
      if (at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]))) {
        text.insert(at, 1, ' ');
        columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(at), columns[at]);
        ++at;
      }
    }
  }
  std::vector<Token> out;
  constexpr std::string_view blank = " \t|`*>\xC2\xA0";  // Markdown's decoration, quotes of mail, non-breaking spaces
  for (std::size_t at = 0; at < text.size() && out.size() < 4 * max_devices;) {
    if (blank.find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    const auto end = std::min(text.find_first_of(blank, at), text.size());
    out.push_back({text.substr(at, end - at), columns[at]});
    at = end;
  }
  return out;
}

class MatrixReader {
 public:
  explicit MatrixReader(const ImportInput& in) : in_{in} {}

  TopoMatrix run() {
    for (const auto& line : lines_of(in_.text())) {
      if (line.text.size() > 64 * 1024) {
        problem(line.number, 1, "a line of more than 64 KiB", "name the text that nvidia-smi topo -m printed");
        return {};
      }
      take(line.number, tokens_of(line.text), line.text);
      if (in_.problems.full()) return {};
    }
    if (rows_.empty()) {
      problem(std::max(header_line_, 0), header_line_ > 0 ? 1 : 0, "no row of the matrix was found",
              "rows begin with GPU0, GPU1, …: copy the whole output of nvidia-smi topo -m");
      return {};
    }
    if (names_.empty()) {
      for (const auto& r : rows_) names_.push_back({r.name, r.column});
      in_.notes.assume("the header is missing: columns are taken to be in the order of the rows");
    }
    return matrix();
  }

 private:
  struct Row {
    std::string name;
    int line, column;
    std::vector<MatrixCell> cells;
    std::vector<std::string> rest;
  };

  void problem(int line, int column, std::string text, std::string help = {}) {
    in_.problems.add(in_.file, line, column, std::move(text), std::move(help));
  }

  void take(int line, const std::vector<Token>& t, std::string_view raw) {
    if (t.empty()) return;
    note_product(raw);
    if (t.size() >= 2 && t[0].text.size() > 1 && t[0].text.back() == ':' &&
        number_after(t[0].text.substr(0, t[0].text.size() - 1), "NIC")) {
      legend_[t[0].text.substr(0, t[0].text.size() - 1)] = quoted(t[1].text);
      return;
    }
    if (t[0].text == "Legend:" || (t.size() > 1 && t[1].text == "=")) {
      open_ = false;
      in_header_ = false;
      return;
    }
    const bool cell_follows = t.size() > 1 && cell_of(t[1].text);
    const bool named = is_name(t[0].text);
    if (gpu_name(t[0].text) && !cell_follows && !(named && t.size() == 1) && header_like(t)) {
      if (!rows_.empty()) {
        if (second_++ == 0) in_.notes.lack(fmt::format("a second matrix in line {} was not read", line));
        open_ = false;
        return;
      }
      names_.clear();
      header_line_ = line;
      in_header_ = true;
      add_names(t, line);
    } else if (second_ > 0) {
      return;
    } else if (in_header_ && rows_.empty() && !cell_follows && header_like(t)) {
      add_names(t, line);
    } else if (cell_follows && (named || gpu_name(t[0].text) || (open_ && device_word(t[0].text)))) {
      row(line, t, named);
    } else if (open_ && !rows_.empty() &&
               (cell_of(t[0].text) || (affinity_cell(t[0].text) && rows_.back().rest.size() < 3))) {
      in_header_ = false;
      append(line, t, 0);  // a wrapped row goes on
    }
  }

  bool is_name(const std::string& word) const {
    return std::ranges::any_of(names_, [&](const Token& n) { return n.text == word; });
  }
  static bool header_like(const std::vector<Token>& t) {
    return std::ranges::all_of(t, [](const Token& w) { return device_word(w.text) || affinity_header(w.text); });
  }

  void add_names(const std::vector<Token>& t, int line) {
    for (const auto& w : t) {
      if (affinity_header(w.text)) {
        if (w.text == "NUMA_Affinity") numa_column_ = true;
        in_header_ = in_header_ && w.text != "GPU_NUMA_ID";
        continue;
      }
      if (is_name(w.text)) problem(line, w.column, fmt::format("{} has two columns", w.text));
      if (names_.size() == max_devices) {
        problem(line, w.column, fmt::format("more than {} columns", max_devices));
        return;
      }
      names_.push_back(w);
    }
  }

  void row(int line, const std::vector<Token>& t, bool named) {
    in_header_ = false;
    open_ = true;
    if (!names_.empty() && !named) {
      std::vector<std::string> known;
      for (const auto& n : names_) known.push_back(n.text);
      problem(line, t[0].column, fmt::format("{} has a row and no column", t[0].text),
              "the header has " + fmt::format("{}", fmt::join(known, ", ")));
    }
    const auto twice = std::ranges::find(rows_, t[0].text, &Row::name);
    if (twice != rows_.end())
      problem(line, t[0].column, fmt::format("{} has two rows", t[0].text),
              fmt::format("the first is line {}", twice->line));
    if (rows_.size() > max_devices) return;
    rows_.push_back({t[0].text, line, t[0].column, {}, {}});
    append(line, t, 1);
  }

  void append(int line, const std::vector<Token>& t, std::size_t from) {
    auto& r = rows_.back();
    for (std::size_t i = from; i < t.size(); ++i) {
      const bool full = !names_.empty() && r.cells.size() >= names_.size();
      auto cell = r.rest.empty() && !full ? cell_of(t[i].text) : std::nullopt;
      if (cell) {
        cell->line = line;
        cell->column = t[i].column;
        r.cells.push_back(*cell);
        if (r.cells.size() > max_devices) return;
      } else if (affinity_cell(t[i].text) || full || !r.rest.empty()) {
        if (full && cell_of(t[i].text)) {
          problem(line, t[i].column, fmt::format("the row of {} has more cells than there are columns", r.name));
          return;
        }
        if (r.rest.size() < 8) r.rest.push_back(quoted(t[i].text));
      } else {
        problem(line, t[i].column, fmt::format("'{}' is no kind of path", quoted(t[i].text)),
                "a cell is X, NV1, NV2, …, PIX, PXB, PHB, NODE or SYS");
        r.cells.push_back({PathClass::unknown, 0, line, t[i].column});
      }
    }
  }

  void note_product(std::string_view raw) {
    if (!product_.empty()) return;
    for (const std::string_view maker : {"NVIDIA ", "Tesla ", "GeForce "}) {
      const auto at = raw.find(maker);
      if (at == std::string_view::npos) continue;
      auto text = raw.substr(at, 60);
      for (const std::string_view stop : {"(", "|", "  "}) text = text.substr(0, text.find(stop));
      if (std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c); }) &&
          text.find("-SMI") == std::string_view::npos && text.find("Driver") == std::string_view::npos)
        product_ = quoted(trimmed(text), 60);
      return;
    }
  }

  /// GPUs first, then NICs by number or name; rows by name.
  TopoMatrix matrix() {
    TopoMatrix m;
    m.line = header_line_ > 0 ? header_line_ : rows_.front().line;
    m.column = names_.empty() ? 1 : names_.front().column;
    m.product = product_;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (gpu_name(names_[i].text)) order.push_back(i);
    }
    m.gpus = static_cast<int>(order.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!gpu_name(names_[i].text)) order.push_back(i);
    }
    std::sort(order.begin() + m.gpus, order.end(),
              [&](auto a, auto b) { return natural_less(names_[a].text, names_[b].text); });
    const auto n = order.size();
    m.cells.assign(n, std::vector<MatrixCell>(n));
    for (std::size_t i = 0; i < n; ++i) {
      const auto& name = names_[order[i]].text;
      m.names.push_back(name);
      if (static_cast<int>(i) >= m.gpus) {
        const auto known = legend_.find(name);
        m.nics.push_back(known != legend_.end() ? known->second : number_after(name, "NIC") ? "" : name);
      }
      const auto r = std::ranges::find(rows_, name, &Row::name);
      if (r == rows_.end()) {
        if (static_cast<int>(i) < m.gpus)
          problem(rows_.back().line, rows_.back().column, fmt::format("the row of {} is missing", name),
                  "is the text cut off? copy the whole output of nvidia-smi topo -m");
        continue;
      }
      for (std::size_t j = 0; j < n && order[j] < names_.size(); ++j) {
        if (order[j] < r->cells.size()) m.cells[i][j] = r->cells[order[j]];
      }
      if (static_cast<int>(i) >= m.gpus) continue;
      m.cpu_affinity.resize(static_cast<std::size_t>(m.gpus));
      m.numa_affinity.resize(static_cast<std::size_t>(m.gpus));
      if (!r->rest.empty() && r->rest[0] != "N/A") m.cpu_affinity[i] = r->rest[0];
      if (numa_column_ && r->rest.size() > 1 && r->rest[1] != "N/A") m.numa_affinity[i] = r->rest[1];
    }
    if (m.gpus == 0) problem(m.line, 1, "the matrix has no GPU");
    mirror(m);
    return m;
  }

  /// A pair stands in two cells: they agree, or one of them was cut off.
  void mirror(TopoMatrix& m) {
    const auto n = m.names.size();
    for (std::size_t i = 0; i < n; ++i) {
      auto& self = m.cells[i][i];
      if (self.path != PathClass::self && self.path != PathClass::unknown) {
        problem(self.line, self.column, fmt::format("{} to itself must be X", m.names[i]),
                "is a column missing, or one too many?");
        return;  // everything behind it is shifted
      }
      for (std::size_t j = i + 1; j < n; ++j) {
        auto &a = m.cells[i][j], &b = m.cells[j][i];
        for (const auto* c : {&a, &b}) {
          if (c->path == PathClass::self)
            return problem(c->line, c->column, fmt::format("X between {} and {}", m.names[i], m.names[j]),
                           "is a column missing, or one too many?");
        }
        if (a.path == PathClass::unknown) a = b;
        if (b.path == PathClass::unknown) b = a;
        if (a.path != b.path || a.nvlinks != b.nvlinks) {
          problem(b.line, b.column,
                  fmt::format("{} to {} is {}, but {} to {} is {} (line {})", m.names[j], m.names[i], word(b),
                              m.names[i], m.names[j], word(a), a.line),
                  "a path is the same from either end");
          if (in_.problems.full()) return;
        }
      }
    }
  }

  static std::string word(const MatrixCell& c) {
    return c.path == PathClass::nvlink ? fmt::format("NV{}", c.nvlinks) : std::string{name_of(c.path)};
  }

  const ImportInput& in_;
  std::vector<Token> names_;
  std::vector<Row> rows_;
  std::map<std::string, std::string> legend_;
  std::string product_;
  int header_line_ = 0, second_ = 0;
  bool in_header_ = false, open_ = false, numa_column_ = false;
};

}  // namespace

std::string_view name_of(PathClass c) {
  switch (c) {
    case PathClass::unknown:
      return "unknown";
    case PathClass::self:
      return "X";
    case PathClass::pix:
      return "PIX";
    case PathClass::pxb:
      return "PXB";
    case PathClass::phb:
      return "PHB";
    case PathClass::node:
      return "NODE";
    case PathClass::sys:
      return "SYS";
    case PathClass::nvlink:
      return "NV";
  }
  return "?";
}

TopoMatrix read_topo_matrix(const ImportInput& in) { return MatrixReader{in}.run(); }

}  // namespace linkcast::topologies
