// The file of a sweep's results. A row is one write to a file that is only appended to: what was written before a kill
// or a full disk is whole, and the line that was cut off is removed at the next start.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unordered_map>

#include "linkcast/planning/sweep.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning {
namespace {

[[noreturn]] void fail(const std::string& path, std::string_view what, std::string help) {
  throw sim::InputError(fmt::format("{}: {}", path, what), std::move(help));
}

std::string reason() { return std::strerror(errno); }

/// All of it, or false with errno set.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = ENOSPC;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Row names_of(const Study& study) {
  Row out;
  for (const auto& c : study.columns()) out.push_back(c.name);
  return out;
}

}  // namespace

struct ResultFile::Impl {
  std::string path;
  int file = -1;
  off_t size = 0;
  mode_t mode = 0644;
  Row header;
  std::vector<bool> numbers;  // by column
  std::vector<Row> rows;
  std::unordered_map<std::string, std::size_t> index;

  ~Impl() {
    if (file >= 0) ::close(file);
  }

  void open() {
    // Who waits for the lock may get it on a file that was put in order meanwhile: another one has its name now.
    for (int tries = 0; tries < 100; ++tries) {
      file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
      if (file < 0) fail(path, "cannot be written: " + reason(), "choose another place with --out");
      if (::flock(file, LOCK_EX | LOCK_NB) != 0)
        fail(path, "another sweep is writing it", "wait for its end, or take another file");
      struct stat now {};
      struct stat named {};
      if (::fstat(file, &now) != 0 || !S_ISREG(now.st_mode))
        fail(path, "not a plain file", "choose another place with --out");
      if (::stat(path.c_str(), &named) == 0 && named.st_ino == now.st_ino && named.st_dev == now.st_dev) {
        size = now.st_size;
        mode = now.st_mode & 07777;
        return;
      }
      ::close(file);
      file = -1;
    }
    fail(path, "does not stay the same file", "choose another place with --out");
  }

  std::string read() const {
    std::string text(static_cast<std::size_t>(size), '\0');
    std::size_t got = 0;
    while (got < text.size()) {
      const auto n = ::pread(file, text.data() + got, text.size() - got, static_cast<off_t>(got));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail(path, "cannot be read: " + (n == 0 ? std::string{"it shrank"} : reason()), {});
      got += static_cast<std::size_t>(n);
    }
    return text;
  }

  void truncate(off_t to) {
    if (::ftruncate(file, to) != 0) fail(path, "cannot be written: " + reason(), {});
    size = to;
  }

  /// Whole or not at all.
  void put(const std::string& text) {
    const auto before = size;
    if (write_all(file, text)) {
      size += static_cast<off_t>(text.size());
      return;
    }
    const auto why = reason();
    if (::ftruncate(file, before) == 0) size = before;
    fail(path, fmt::format("cannot be written: {}", why),
         fmt::format("the {} results before it are kept: make room and start the sweep again", rows.size()));
  }

  void take(Row row) {
    const auto [at, fresh] = index.try_emplace(row.front(), rows.size());
    if (fresh)
      rows.push_back(std::move(row));
    else
      rows[at->second] = std::move(row);
  }

  /// Somebody's edits are computed again.
  bool sound(const Row& row) const {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!numbers[c] || row[c].empty()) continue;
      char* end = nullptr;
      if (!std::isfinite(std::strtod(row[c].c_str(), &end)) || *end != '\0') return false;
    }
    return true;
  }

  void load() {
    const auto text = read();
    std::size_t whole = 0;
    auto records = read_csv(text, &whole);
    if (records.empty()) {
      // Nothing, or a header that was cut off: anything else is somebody's file.
      if (!csv_line(header).starts_with(text))
        fail(path, "not a file of results of this sweep", "it was left as it is: choose another place with --out");
      truncate(0);
      put(csv_line(header));
      return;
    }
    if (records.front() != header) {
      const bool ours = !records.front().empty() && records.front().front() == "key";
      fail(path, ours ? "has the results of a sweep over other keys or goals" : "not a file of results of a sweep",
           "it was left as it is: choose another place with --out");
    }
    if (whole < text.size()) truncate(static_cast<off_t>(whole));
    for (std::size_t i = 1; i < records.size(); ++i)
      if (records[i].size() == header.size() && sound(records[i])) take(std::move(records[i]));
  }
};

ResultFile::ResultFile(const std::string& path, const Study& study) : impl_{std::make_unique<Impl>()} {
  impl_->path = path;
  impl_->header = names_of(study);
  for (const auto& c : study.columns()) impl_->numbers.push_back(c.number);
  impl_->open();
  impl_->load();
}
ResultFile::~ResultFile() = default;
ResultFile::ResultFile(ResultFile&&) noexcept = default;

const Row* ResultFile::find(const std::string& key) const {
  const auto at = impl_->index.find(key);
  return at == impl_->index.end() ? nullptr : &impl_->rows[at->second];
}

void ResultFile::append(const Row& row) {
  impl_->put(csv_line(row));
  impl_->take(row);
}

void ResultFile::arrange(const std::vector<std::string>& keys) {
  auto& m = *impl_;
  std::string text = csv_line(m.header);
  std::vector<bool> done(m.rows.size(), false);
  for (const auto& key : keys) {
    const auto at = m.index.find(key);
    if (at == m.index.end() || done[at->second]) continue;
    done[at->second] = true;
    text += csv_line(m.rows[at->second]);
  }
  for (std::size_t i = 0; i < m.rows.size(); ++i)
    if (!done[i]) text += csv_line(m.rows[i]);
  if (m.read() == text) return;
  // Rows in the order in which they were finished are as good: nothing is worth failing for here. A link stays a link.
  std::error_code error;
  const auto place = std::filesystem::canonical(m.path, error);
  if (error) return;
  auto other = place.string() + ".XXXXXX";
  const int file = ::mkostemp(other.data(), O_CLOEXEC);
  if (file < 0) return;
  const bool written = write_all(file, text) && ::fchmod(file, m.mode) == 0 && ::fsync(file) == 0;
  ::close(file);
  if (!written || ::rename(other.c_str(), place.c_str()) != 0) ::unlink(other.c_str());
}

}  // namespace linkcast::planning
