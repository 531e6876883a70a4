// See convert.hpp.
#include "convert.hpp"

#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"

namespace py = pybind11;

namespace linkcast::bindings {
namespace {

template <class T>
T one_of(std::string_view what, const std::string& word, const std::vector<std::pair<std::string, T>>& known) {
  std::vector<std::string> names;
  for (const auto& [name, value] : known) {
    if (name == word) return value;
    names.push_back(name);
  }
  const auto near = sim::nearest(word, names);
  std::string help;
  if (!near.empty()) help = "did you mean '" + near + "'? ";
  help += "known:";
  for (const auto& name : names) help += " " + name;
  throw sim::InputError{"unknown " + std::string{what} + " '" + word + "'", help};
}

/// Python's view of a diagnostic: the same words as the C++ names.
py::list diagnostics_of(const sim::InputError& error) {
  py::list out;
  for (const auto& d : error.diagnostics()) {
    py::dict entry;
    entry["file"] = d.at.file;
    entry["line"] = d.at.line;
    entry["column"] = d.at.column;
    entry["problem"] = d.problem;
    entry["help"] = d.help;
    out.append(std::move(entry));
  }
  return out;
}

/// Raises `type` with the message; file names and quoted input need not be UTF-8.
void raise(const py::handle& type, const char* message, const py::list* diagnostics) {
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::string_view{message}.size()), "backslashreplace"));
  py::object instance = type(text);
  if (diagnostics != nullptr) instance.attr("diagnostics") = *diagnostics;
  PyErr_SetObject(type.ptr(), instance.ptr());
}

}  // namespace

models::nccl::Op op_of(const std::string& word) {
  if (const auto op = models::nccl::op_from(word)) return *op;
  std::vector<std::pair<std::string, models::nccl::Op>> known;
  for (const auto& name : models::nccl::op_names()) {
    if (const auto op = models::nccl::op_from(name)) known.emplace_back(name, *op);
  }
  return one_of("operation", word, known);
}

models::LaunchMode launch_of(const std::string& word) {
  using models::LaunchMode;
  return one_of<LaunchMode>("launch mode", word,
                            {{"single-process", LaunchMode::single_process},
                             {"multi-process", LaunchMode::multi_process},
                             {"graph", LaunchMode::graph}});
}

workloads::Fidelity fidelity_of(const std::string& word) {
  using workloads::Fidelity;
  return one_of<Fidelity>("fidelity", word,
                          {{"flow", Fidelity::flow}, {"chunk", Fidelity::chunk}, {"packet", Fidelity::packet}});
}

calibration::Floor floor_of(const std::string& word) {
  using calibration::Floor;
  return one_of<Floor>("floor", word, {{"shipped", Floor::shipped}, {"known", Floor::known}});
}

models::Routing routing_of(const std::string& word) {
  using models::Routing;
  return one_of<Routing>("routing", word,
                         {{"adaptive", Routing::adaptive},
                          {"spray", Routing::spray},
                          {"ecmp", Routing::ecmp},
                          {"by_destination", Routing::by_destination}});
}

void register_errors(py::module_& module) {
  // Owned by the module for as long as the interpreter lives; the translator only borrows them.
  static py::handle input_error, internal_error;
  const auto define = [&](const char* name, PyObject* base, const char* doc) {
    auto type = py::reinterpret_steal<py::object>(
        PyErr_NewExceptionWithDoc((std::string{"linkcast."} + name).c_str(), doc, base, nullptr));
    module.add_object(name, type);
    return type.release();
  };
  input_error = define("InputError", PyExc_ValueError,
                       "The input is wrong: the text says where, what, and what to write instead.\n\n"
                       "Attributes\n----------\ndiagnostics : list of dict\n"
                       "    One for each problem: file, line, column (from 1; 0 where there is none), problem, help.");
  internal_error = define("InternalError", PyExc_RuntimeError,
                          "Linkcast broke a promise of its own (physics, an account that does not add up): a bug.");
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const sim::InputError& e) {
      const auto diagnostics = diagnostics_of(e);
      raise(input_error, e.what(), &diagnostics);
    } catch (const sim::InternalError& e) {
      raise(internal_error, e.what(), nullptr);
    }
  });
}

}  // namespace linkcast::bindings
