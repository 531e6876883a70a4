// See natural_order.hpp.
#include "natural_order.hpp"

namespace linkcast::topologies {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && digit(text[n])) ++n;
  auto run = text.substr(0, n);
  text.remove_prefix(n);
  while (run.size() > 1 && run.front() == '0') run.remove_prefix(1);
  return run;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  auto x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (digit(x.front()) && digit(y.front())) {
      const auto p = take_digits(x), q = take_digits(y);
      if (p.size() != q.size()) return p.size() < q.size();
      if (p != q) return p < q;
      continue;
    }
    if (x.front() != y.front()) return x.front() < y.front();
    x.remove_prefix(1);
    y.remove_prefix(1);
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;
}

}  // namespace linkcast::topologies
