// See value_tree.hpp: members, and JSON by nlohmann's event parser, which keeps what came before an error.
#include "value_tree.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace linkcast::workloads::readers {

const Datum* Datum::get(std::string_view key) const {
  for (const auto& [k, v] : entries)
    if (k == key) return v;
  return nullptr;
}

std::int64_t Datum::whole(std::string_view key, std::int64_t otherwise) const {
  const auto* d = get(key);
  if (d == nullptr) return otherwise;
  return d->kind == Kind::integer || d->kind == Kind::boolean ? d->integer : otherwise;
}

double Datum::number(std::string_view key, double otherwise) const {
  const auto* d = get(key);
  if (d == nullptr) return otherwise;
  if (d->kind == Kind::integer) return static_cast<double>(d->integer);
  return d->kind == Kind::real ? d->real : otherwise;
}

std::string_view Datum::word(std::string_view key) const {
  const auto* d = get(key);
  return d != nullptr && d->kind == Kind::text ? std::string_view{d->text} : std::string_view{};
}

namespace {

constexpr std::size_t deepest = 200;

class Events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Events(Document& document, std::string_view left_out) : document_{document}, left_out_{left_out} {}

  bool null() override { return put(Datum::Kind::none) != nullptr; }
  bool boolean(bool v) override { return whole(Datum::Kind::boolean, v ? 1 : 0); }
  bool number_integer(number_integer_t v) override { return whole(Datum::Kind::integer, v); }
  bool number_unsigned(number_unsigned_t v) override {
    constexpr auto most = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return whole(Datum::Kind::integer, static_cast<std::int64_t>(std::min(v, most)));
  }
  bool number_float(number_float_t v, const string_t&) override {
    put(Datum::Kind::real)->real = v;
    return true;
  }
  bool string(string_t& v) override {
    put(Datum::Kind::text)->text = std::move(v);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(Datum::Kind::map); }
  bool start_array(std::size_t) override { return open(Datum::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& k) override {
    key_ = std::move(k);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    document_.position = position;
    document_.problem = e.what();
    return false;
  }

 private:
  Datum* put(Datum::Kind kind) {
    if (hidden_ > 0 ||
        (!open_.empty() && open_.back()->kind == Datum::Kind::map && key_ == left_out_ && !left_out_.empty())) {
      scratch_ = Datum{};
      return &scratch_;
    }
    auto* d = document_.add(kind);
    if (open_.empty())
      document_.root = d;
    else if (open_.back()->kind == Datum::Kind::map)
      open_.back()->entries.emplace_back(key_, d);
    else
      open_.back()->items.push_back(d);
    return d;
  }
  bool whole(Datum::Kind kind, std::int64_t v) {
    put(kind)->integer = v;
    return true;
  }
  bool open(Datum::Kind kind) {
    auto* d = put(kind);
    if (d == &scratch_)
      ++hidden_;
    else
      open_.push_back(d);
    if (hidden_ + open_.size() > deepest) {
      document_.problem = "nested more than 200 deep";
      return false;
    }
    return true;
  }
  bool close() {
    if (hidden_ > 0)
      --hidden_;
    else
      open_.pop_back();
    return true;
  }

  Document& document_;
  std::string_view left_out_;
  std::string key_;
  std::vector<Datum*> open_;
  std::size_t hidden_ = 0;
  Datum scratch_;
};

}  // namespace

Document read_json(std::string_view text, std::string_view left_out) {
  Document out;
  Events events{out, left_out};
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  return out;
}

}  // namespace linkcast::workloads::readers
