// See import_text.hpp. Knows zlib.
#include "import_text.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

namespace linkcast::topologies {
namespace {

[[noreturn]] void refuse(const std::string& file, std::string problem, std::string help = {}) {
  throw sim::InputError({{{file, 0, 0, 1}, std::move(problem), std::move(help)}}, {});
}

bool packed(std::string_view text) { return text.size() >= 2 && text[0] == '\x1f' && text[1] == '\x8b'; }

std::string inflated(const InputFile& file) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) refuse(file.name, "gzip: no memory to unpack it");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard{&stream, &inflateEnd};
  std::string out;
  std::array<unsigned char, 1 << 16> buffer;
  // zlib reads through a pointer to bytes that are not const, and leaves them alone.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.text.data()));
  stream.avail_in = static_cast<uInt>(file.text.size());
  while (true) {
    stream.next_out = buffer.data();
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    out.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream.avail_out);
    if (out.size() > max_import_bytes) {
      refuse(file.name, fmt::format("unpacks to more than {} MiB", max_import_bytes >> 20),
             "is it the description of one machine or one network?");
    }
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) return out;
      if (inflateReset(&stream) != Z_OK) refuse(file.name, "gzip: cannot be unpacked");  // a further member follows
      continue;
    }
    if (status == Z_BUF_ERROR || (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      refuse(file.name, "gzip: the file is cut off", "copy it again");
    }
    if (status != Z_OK) refuse(file.name, fmt::format("gzip: {}", stream.msg ? stream.msg : "broken data"));
  }
}

}  // namespace

Source unpacked(const InputFile& file) {
  if (file.text.size() > max_import_bytes) {
    refuse(file.name, fmt::format("is larger than {} MiB", max_import_bytes >> 20),
           "is it the description of one machine or one network?");
  }
  auto out = std::make_shared<SourceText>();
  out->name = file.name;
  out->text = packed(file.text) ? inflated(file) : file.text;
  const auto& text = out->text;
  if (trimmed(text).empty()) refuse(file.name, "is empty");
  constexpr std::ptrdiff_t max_lines = 4'000'000;  // readers keep a few words for each line
  if (std::count(text.begin(), text.end(), '\n') > max_lines)
    refuse(file.name, fmt::format("has more than {} lines", max_lines));
  if (text.size() >= 2 && (text.compare(0, 2, "\xff\xfe") == 0 || text.compare(0, 2, "\xfe\xff") == 0)) {
    refuse(file.name, "is UTF-16 text", "save it as UTF-8: iconv -f UTF-16 -t UTF-8");
  }
  if (const auto zero = text.find('\0'); zero != std::string::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    refuse(file.name, fmt::format("is binary: byte {} (line {}) is zero", zero, line),
           "name the text that the program printed");
  }
  return out;
}

std::vector<TextLine> lines_of(std::string_view text) {
  std::vector<TextLine> out;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    out.push_back({line, number});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string without_escapes(std::string_view line, std::vector<int>* columns) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    // ESC [ parameters, then one letter; also as pasted, where the terminal swallowed the ESC itself: "[4m", "[0m".
    const bool escape = line[i] == '\x1b';
    const auto open = escape ? i + 1 : i;
    if (open < line.size() && line[open] == '[') {
      auto end = open + 1;
      while (end < line.size() && (std::isdigit(static_cast<unsigned char>(line[end])) || line[end] == ';')) ++end;
      if (end < line.size() &&
          (escape ? std::isalpha(static_cast<unsigned char>(line[end])) != 0 : line[end] == 'm' && end > open + 1)) {
        i = end;
        continue;
      }
    }
    if (escape) continue;
    out += line[i];
    if (columns) columns->push_back(static_cast<int>(i) + 1);
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n\v\f";
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string quoted(std::string_view text, std::size_t longest) {
  std::string out;
  for (const char c : text.substr(0, longest)) out += static_cast<unsigned char>(c) < 0x20 || c == '\x7f' ? '?' : c;
  return text.size() > longest ? out + "..." : out;
}

}  // namespace linkcast::topologies
