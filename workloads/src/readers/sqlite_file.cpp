// See sqlite_file.hpp. Source of the settings: sqlite.org/security.html ("Untrusted SQLite Database Files").
#include "sqlite_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <utility>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

std::string uri_of(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error).string();
  std::string out = "file://";
  for (const char c : full)
    if (c == '%' || c == '?' || c == '#' || static_cast<unsigned char>(c) < 0x21)
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  return out + "?immutable=1";
}

}  // namespace

SqliteFile::SqliteFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw sim::InputError(fmt::format("{}: not a file", path));
  const auto fail = [&] {
    const auto why = fmt::format("{}: {}", path, sqlite3_errmsg(db_));
    sqlite3_close_v2(db_);
    db_ = nullptr;
    throw sim::InputError(why, "expected what `nsys export --type sqlite` writes, not compressed");
  };
  if (sqlite3_open_v2(uri_of(path).c_str(), &db_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK)
    fail();
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, 64 << 20);
  sqlite3_exec(db_, "PRAGMA cell_size_check=ON; PRAGMA cache_size=-65536", nullptr, nullptr, nullptr);
  auto found = rows("SELECT name, sql FROM sqlite_master WHERE type = 'table'");
  if (!found.problem().empty()) fail();
  while (found.next()) {
    const auto sql = found.text(1);
    if (sql.size() > 15 && sqlite3_strnicmp(sql.data(), "CREATE VIRTUAL", 14) == 0) continue;
    tables_.emplace(found.text(0));
  }
  if (!found.problem().empty()) fail();
}

SqliteFile::~SqliteFile() { sqlite3_close_v2(db_); }

bool SqliteFile::has(const std::string& table, std::string_view column) const {
  if (!tables_.contains(table)) return false;
  auto columns = rows(fmt::format("SELECT name FROM pragma_table_info('{}')", table));
  while (columns.next())
    if (columns.text(0) == column) return true;
  return false;
}

SqliteFile::Rows SqliteFile::rows(const std::string& query) const {
  sqlite3_stmt* statement = nullptr;
  std::string problem;
  if (sqlite3_prepare_v2(db_, query.c_str(), static_cast<int>(query.size()), &statement, nullptr) != SQLITE_OK)
    problem = sqlite3_errmsg(db_);
  return {db_, statement, std::move(problem)};
}

SqliteFile::Rows::~Rows() { sqlite3_finalize(statement_); }
SqliteFile::Rows::Rows(Rows&& o) noexcept
    : db_{o.db_}, statement_{std::exchange(o.statement_, nullptr)}, problem_{std::move(o.problem_)} {}

bool SqliteFile::Rows::next() {
  if (statement_ == nullptr) return false;
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) problem_ = sqlite3_errmsg(db_);
  sqlite3_finalize(std::exchange(statement_, nullptr));
  return false;
}

std::int64_t SqliteFile::Rows::whole(int column) const { return sqlite3_column_int64(statement_, column); }
bool SqliteFile::Rows::null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::string_view SqliteFile::Rows::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string_view{}
                         : std::string_view{text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace linkcast::workloads::readers
