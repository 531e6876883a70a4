// See ib_text.hpp. The form is that of infiniband-diags' ibnetdiscover: a section for each node, its head line, then a
// line for each port that has a link. Time grows with the lines, memory with the ports.
#include "ib_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

namespace linkcast::topologies {
namespace {

struct Signalling {
  std::string_view name;
  double lane_gbps;  // data rate of one lane, after line coding
};
// InfiniBand Architecture Specification volume 2: 8b/10b up to QDR, 64b/66b from FDR10; HDR and later are named by
// data.
constexpr std::array signallings{
    Signalling{"SDR", 2.0},    Signalling{"DDR", 4.0},   Signalling{"QDR", 8.0},
    Signalling{"FDR10", 10.0}, Signalling{"FDR", 13.64}, Signalling{"EDR", 25.0},
    Signalling{"HDR", 50.0},   Signalling{"NDR", 100.0}, Signalling{"XDR", 200.0},
};

/// Walks along one line. Every step says whether it found what it was asked for.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : line_{line} {}
  int column() const { return static_cast<int>(at_) + 1; }
  bool at_end() const { return at_ >= line_.size(); }
  std::string_view rest() const { return line_.substr(at_); }
  void blanks() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view word) {
    if (line_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  template <class T>
  std::optional<T> number(int base = 10) {
    T value{};
    const auto* begin = line_.data() + at_;
    const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), value, base);
    if (error != std::errc{} || end == begin) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }
  void skip_to(std::size_t position) { at_ = position; }
  std::size_t position() const { return at_; }

 private:
  std::string_view line_;
  std::size_t at_ = 0;
};

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

/// The description is between the first quote after the '#' and the last one: it may hold anything but a line end.
std::optional<std::string_view> description(std::string_view line, std::size_t after, std::size_t& end) {
  const auto open = line.find('"', after);
  const auto close = line.rfind('"');
  if (open == std::string_view::npos || close <= open) return std::nullopt;
  end = close + 1;
  auto text = line.substr(open + 1, close - open - 1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

class Parser {
 public:
  Parser(const Source& file, Problems& problems) : file_{file}, problems_{problems} {}

  IbFabric parse() {
    std::string_view text{file_->text};
    if (starts(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
    while (!text.empty() && !problems_.full()) {
      ++number_;
      const auto end = text.find('\n');
      last_ = end == std::string_view::npos;
      line_ = text.substr(0, end);
      if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
      one_line();
      text.remove_prefix(last_ ? text.size() : end + 1);
    }
    if (out_.nodes.empty() && problems_.empty()) {
      problem(1, "no node: neither a Switch nor a Ca section", "print the network with: ibnetdiscover > FILE", 1);
    }
    if (problems_.empty()) join();
    return std::move(out_);
  }

 private:
  /// Half of a link, as one end says it: `end` is plugged into `peer`.
  struct Claim {
    IbPort end, peer;
    IbSpeed speed;
    int line;
    bool own;  // said in the section of `end`
  };

  void problem(int column, std::string text, std::string help = {}, int line = 0) {
    if (last_ && line == 0 && !line_.empty())
      help += help.empty() ? "is the file cut off here?" : "; is the file cut off?";
    problems_.add(file_, line ? line : number_, column, std::move(text), std::move(help));
  }

  void one_line() {
    Cursor c{line_};
    c.blanks();
    const auto rest = c.rest();
    if (rest.empty() || rest[0] == '#') return;
    if (rest[0] == '[') return port(c);
    for (const auto& [word, kind] : {std::pair{"Switch", 'S'}, std::pair{"Ca", 'H'}, std::pair{"Rt", 'R'}}) {
      if (starts(rest, word) && rest.find('"') != std::string_view::npos) {
        c.take(word);
        return head(c, kind);
      }
    }
    if (c.take("devid=")) {
      c.take("0x");
      device_ = c.number<std::uint32_t>(16).value_or(0);
      return;
    }
    for (const auto* key : {"vendid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid=", "nodeguid="}) {
      if (starts(rest, key)) return;
    }
    // What the tools print to stderr lands among the output of many a `> file 2>&1`.
    for (const auto* noise : {"ibwarn:", "ibpanic:", "ibnetdiscover:", "src/", "./src/", "mad_rpc", "umad_"}) {
      if (starts(rest, noise)) {
        ++out_.noise;
        return;
      }
    }
    problem(c.column(), "not a line of ibnetdiscover",
            "expected 'Switch …', 'Ca …', '[port] …', 'vendid=…' or a comment");
    node_ = none;
  }

  /// "S-1000000000000002", in quotes.
  struct Name {
    char kind;
    std::uint64_t guid;
  };
  std::optional<Name> name(Cursor& c) {
    const auto from = c.column();
    const auto fail = [&] {
      problem(from, "expected the name of a node", "such as \"S-0002c90300a1b2c3\": S, H or R and 16 hex digits");
      return std::nullopt;
    };
    if (!c.take("\"")) return fail();
    const auto rest = c.rest();
    if (rest.size() < 2 || rest[1] != '-' || (rest[0] != 'S' && rest[0] != 'H' && rest[0] != 'R')) return fail();
    Name n{rest[0], 0};
    c.skip_to(c.position() + 2);
    const auto before = c.position();
    const auto guid = c.number<std::uint64_t>(16);
    if (!guid || c.position() - before > 16 || !c.take("\"")) return fail();
    n.guid = *guid;
    return n;
  }

  void head(Cursor& c, char kind) {
    node_ = none;
    c.blanks();
    const auto ports = c.number<std::uint16_t>();
    if (!ports) return problem(c.column(), "expected the number of ports");
    c.blanks();
    const auto at = c.column();
    const auto n = name(c);
    if (!n) return;
    if (n->kind != kind) {
      return problem(at,
                     fmt::format("the section of a {} names a node of another kind", kind == 'S' ? "Switch" : "Ca"));
    }
    std::size_t end = 0;
    const auto text = description(line_, c.position(), end);
    if (!text) return problem(c.column(), "expected # and the description of the node in quotes");
    const auto index = of(*n);
    auto& node = out_.nodes[index];
    if (node.section) {
      return problem(at, fmt::format("a second section of \"{}-{}\"", kind, ib_guid(n->guid)),
                     fmt::format("the first is in line {}; two outputs in one file?", node.line));
    }
    node.section = true;
    node.ports = *ports;
    node.description = *text;
    node.device = device_;
    node.line = number_;
    node.column = at;
    device_ = 0;
    node_ = index;
  }

  /// [1](portguid) or [1][ext 5], blanks, "S-guid"[21](portguid), # … "description" lid 226 4xHDR
  void port(Cursor& c) {
    if (out_.nodes.empty()) return problem(c.column(), "a port before the first section");
    if (node_ == none) return;  // of a section whose head was refused
    Claim claim{{node_, 0}, {}, {}, number_, true};
    if (!number_in_brackets(c, claim.end.port)) return;
    c.blanks();
    if (c.at_end()) return;  // nothing plugged in
    const auto n = name(c);
    if (!n) return;
    if (!number_in_brackets(c, claim.peer.port)) return;
    claim.peer.node = of(*n);
    auto& node = out_.nodes[node_];
    if (claim.end.port > node.ports) {
      return problem(1, fmt::format("port {} of a node with {} ports", claim.end.port, node.ports));
    }
    std::size_t end = 0;
    const auto text = description(line_, c.position(), end);
    if (!text) return problem(c.column(), "expected # and the description of the peer in quotes");
    auto& peer = out_.nodes[claim.peer.node];
    if (!peer.section && peer.description.empty()) peer.description = *text;
    if (peer.line == 0) {
      peer.line = number_;
      peer.column = 1;
    }
    Cursor tail{line_};
    tail.skip_to(end);
    if (!speed(tail, claim.speed)) return;
    claims_.push_back(claim);
    std::swap(claim.end, claim.peer);
    claim.own = false;
    claims_.push_back(claim);
  }

  bool number_in_brackets(Cursor& c, std::uint16_t& out) {
    const auto at = c.column();
    const auto n = c.take("[") ? c.number<std::uint16_t>() : std::nullopt;
    if (!n || !c.take("]")) {
      problem(at, "expected a port number in brackets", "such as [21]");
      return false;
    }
    out = *n;
    for (const auto& [open, close] : {std::pair{"[ext ", ']'}, std::pair{"(", ')'}}) {
      c.blanks();
      if (!c.take(open)) continue;
      const auto end = line_.find(close, c.position());
      if (end == std::string_view::npos) {
        problem(c.column(), fmt::format("expected '{}'", close));
        return false;
      }
      c.skip_to(end + 1);
    }
    return true;
  }

  bool speed(Cursor& c, IbSpeed& out) {
    while (!c.at_end()) {
      c.blanks();
      const auto at = c.column();
      const auto lanes = c.number<std::uint8_t>();
      if (lanes && c.take("x")) {
        const auto rest = c.rest();
        const auto word = rest.substr(0, rest.find_first_of(" \t"));
        const auto known =
            std::find_if(signallings.begin(), signallings.end(), [&](const auto& s) { return s.name == word; });
        if (known == signallings.end() || *lanes == 0 || *lanes > 12) {
          if (starts(word, "?")) return true;
          problem(at, fmt::format("unknown speed '{}x{}'", *lanes, word.substr(0, 20)),
                  "known are SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR and XDR, as in 4xNDR");
          return false;
        }
        out = {*lanes, known->name, *lanes * known->lane_gbps};
        return true;
      }
      const auto space = line_.find_first_of(" \t", c.position());
      c.skip_to(std::min(space, line_.size()));
    }
    return true;
  }

  std::uint32_t of(const Name& n) {
    auto& index = n.kind == 'S' ? switch_index_ : adapter_index_;
    const auto [known, added] = index.try_emplace(n.guid, static_cast<std::uint32_t>(out_.nodes.size()));
    if (added) {
      IbNode node;
      node.kind = n.kind;
      node.guid = n.guid;
      out_.nodes.push_back(node);
    }
    return known->second;
  }

  std::string called(IbPort p) const {
    const auto& n = out_.nodes[p.node];
    return fmt::format("\"{}-{}\"[{}]", n.kind, ib_guid(n.guid), p.port);
  }

  /// Both ends of a link say it. What they say must agree.
  void join() {
    for (const auto& n : out_.nodes) {
      if (n.kind == 'S' && !n.section) {
        problems_.add(file_, n.line, n.column,
                      fmt::format("switch \"S-{}\" has no section of its own", ib_guid(n.guid)),
                      "the file is cut off, or sections are missing");
      }
    }
    std::stable_sort(claims_.begin(), claims_.end(), [](const Claim& x, const Claim& y) { return x.end < y.end; });
    for (std::size_t i = 0; i < claims_.size() && !problems_.full();) {
      const auto& first = claims_[i];
      auto speed = first.speed;
      int own = 0, others = 0, line = first.line;
      bool uneven = false;
      auto k = i;
      for (; k < claims_.size() && claims_[k].end == first.end; ++k) {
        const auto& c = claims_[k];
        (c.own ? own : others)++;
        line = std::min(line, c.line);
        if (c.peer != first.peer) {
          problems_.add(
              file_, std::max(c.line, first.line), 1,
              fmt::format("{} is plugged into {} and into {}", called(c.end), called(first.peer), called(c.peer)),
              fmt::format("line {} says otherwise", std::min(c.line, first.line)));
          break;
        }
        if (c.speed.lanes && speed.lanes && c.speed.gbps != speed.gbps) uneven = true;
        if (c.speed.lanes && (!speed.lanes || c.speed.gbps < speed.gbps)) speed = c.speed;
      }
      if (k < claims_.size() && claims_[k].end == first.end) {  // after a contradiction
        while (k < claims_.size() && claims_[k].end == first.end) ++k;
      } else if (own > 1) {
        problems_.add(file_, claims_[k - 1].line, 1,
                      fmt::format("port {} of this section a second time", first.end.port),
                      fmt::format("the first is in line {}", line));
      } else if (first.end.node == first.peer.node) {
        if (first.end < first.peer) ++out_.loops;
      } else if (first.end < first.peer) {
        out_.links.push_back({first.end, first.peer, speed, line});
        out_.uneven += uneven;
        const bool both = out_.nodes[first.end.node].section && out_.nodes[first.peer.node].section;
        out_.one_sided += both && (own == 0 || others == 0);
      }
      i = k;
    }
  }

  static constexpr std::uint32_t none = ~0u;
  const Source& file_;
  Problems& problems_;
  IbFabric out_;
  std::vector<Claim> claims_;
  std::unordered_map<std::uint64_t, std::uint32_t> switch_index_, adapter_index_;  // GUID -> node
  std::string_view line_;
  int number_ = 0;
  bool last_ = false;
  std::uint32_t node_ = none, device_ = 0;
};

}  // namespace

std::string ib_guid(std::uint64_t guid) { return fmt::format("{:016x}", guid); }

IbFabric parse_ibnetdiscover(const Source& file, Problems& problems) { return Parser{file, problems}.parse(); }

}  // namespace linkcast::topologies
