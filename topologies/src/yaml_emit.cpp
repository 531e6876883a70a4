// YAML text of a Value. Knows no schema.
#include "yaml_value.hpp"

namespace linkcast::topologies {
namespace {

bool plain(const std::string& s) {
  if (s.empty() || s.front() == ' ' || s.back() == ' ' || s == "~" || s == "null") return false;
  constexpr std::string_view first = "-?:,[]{}#&*!|>'\"%@`";
  if (first.find(s.front()) != std::string_view::npos) return false;
  for (char c : s) {
    if (static_cast<unsigned char>(c) < 0x20 || std::string_view{"#:,[]{}'\"\\"}.find(c) != std::string_view::npos)
      return false;
  }
  return true;
}

std::string scalar(const Value& v) {
  if (v.kind == Value::Kind::null) return "~";
  if (!v.quoted && plain(v.text)) return v.text;
  std::string out = "\"";
  for (char c : v.text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out + "\"";
}

bool leaf(const Value& v) { return v.kind == Value::Kind::null || v.is_scalar(); }

bool on_one_line(const Value& v) {
  if (leaf(v)) return true;
  for (const auto& i : v.items) {
    if (!on_one_line(i) || i.is_map()) return false;
  }
  for (const auto& e : v.entries) {
    if (!leaf(e.value) && !(e.value.is_sequence() && on_one_line(e.value))) return false;
  }
  return v.items.size() <= 32 && v.entries.size() <= 8;
}

std::string flow(const Value& v) {
  if (leaf(v)) return scalar(v);
  std::string out = v.is_map() ? "{" : "[";
  bool first = true;
  for (const auto& i : v.items) {
    out += (first ? "" : ", ") + flow(i);
    first = false;
  }
  for (const auto& e : v.entries) {
    out += (first ? "" : ", ") + scalar(e.key) + ": " + flow(e.value);
    first = false;
  }
  return out + (v.is_map() ? "}" : "]");
}

void block(const Value& v, const std::string& indent, std::string& out) {
  for (const auto& e : v.entries) {
    out += indent + scalar(e.key) + ":";
    if (on_one_line(e.value)) {
      out += " " + flow(e.value) + "\n";
    } else {
      out += "\n";
      block(e.value, indent + "  ", out);
    }
  }
  for (const auto& i : v.items) {
    if (on_one_line(i)) {
      out += indent + "- " + flow(i) + "\n";
    } else {
      out += indent + "-\n";
      block(i, indent + "  ", out);
    }
  }
}

}  // namespace

std::string emit_yaml(const Value& value) {
  std::string out;
  if (leaf(value)) return scalar(value) + "\n";
  block(value, "", out);
  return out;
}

}  // namespace linkcast::topologies
