// A SQLite database from somebody else, read only: nothing in it is run, nothing beside it is touched. Knows no tables.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace linkcast::workloads::readers {

class SqliteFile {
 public:
  /// Throws sim::InputError: missing, or no database.
  explicit SqliteFile(const std::string& path);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  /// Ordinary tables only: no views, no virtual tables.
  bool has(std::string_view table) const { return tables_.contains(std::string{table}); }
  bool has(const std::string& table, std::string_view column) const;

  class Rows {
   public:
    ~Rows();
    Rows(Rows&&) noexcept;
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    /// False at the end, and where the file is damaged: then `problem` says so.
    bool next();
    std::int64_t whole(int column) const;
    bool null(int column) const;
    std::string_view text(int column) const;
    const std::string& problem() const { return problem_; }

   private:
    friend class SqliteFile;
    Rows(sqlite3* db, sqlite3_stmt* statement, std::string problem)
        : db_{db}, statement_{statement}, problem_{std::move(problem)} {}
    sqlite3* db_;
    sqlite3_stmt* statement_;
    std::string problem_;
  };
  Rows rows(const std::string& query) const;

 private:
  sqlite3* db_ = nullptr;
  std::set<std::string> tables_;
};

}  // namespace linkcast::workloads::readers
