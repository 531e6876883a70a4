// See form.hpp. The only file that knows CLI11; also what is said about words that nobody asked for.
#include "form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <memory>

#include "words.hpp"

namespace linkcast::cli {

struct Form::Impl {
  CLI::App* app;
  std::function<int(Io&)> perform;
  std::vector<std::unique_ptr<Impl>> below;
};

namespace {

std::string full_name(const CLI::App& app) {
  const auto* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// What was left over of a command line: all of it is named, options with the nearest one.
void refuse_leftovers(const CLI::App& app) {
  Problems problems;
  bool may_be_value = false;
  for (const auto& word : app.remaining()) {
    if (word.starts_with("-") && word.size() > 1) {
      const auto name = word.substr(0, word.find('='));
      const auto near = sim::nearest(name, names_of_options(app));
      problems.add(fmt::format("unknown option '{}'", name),
                   near.empty() ? fmt::format("'{} --help' lists the options", full_name(app))
                                : fmt::format("did you mean '{}'?", near));
      may_be_value = word.find('=') == std::string::npos;
    } else if (may_be_value) {
      may_be_value = false;
    } else {
      problems.add(fmt::format("unexpected '{}'", word),
                   fmt::format("'{} --help' shows how to call it", full_name(app)));
    }
  }
  problems.finish();
}

/// CLI11 shows our positionals as optional, because we ask for them ourselves and say what is missing.
std::string help_of(const CLI::App& app) {
  auto text = app.help(app.get_parent() == nullptr ? "" : full_name(*app.get_parent()));
  for (const auto* option : app.get_options()) {
    if (!option->get_positional()) continue;
    for (const std::string dots : {"", "..."}) {
      const auto shown = "[" + option->get_name(true) + dots + "]";
      if (const auto at = text.find(shown); at != std::string::npos)
        text.replace(at, shown.size(), shown.substr(1, shown.size() - 2));
    }
  }
  return text;
}

[[noreturn]] void refuse(const std::string& problem, const std::string& help) {
  throw UsageError{sim::InputError{problem, help}.what()};
}

}  // namespace

struct CommandLine::Impl {
  CLI::App app;
  Form::Impl root{&app, {}, {}};
  std::string version;
  bool wants_version = false;

  /// A group of commands (the root, `topo`) needs one of them.
  [[noreturn]] static void ask_for_command(const CLI::App& app, const Form::Impl& form) {
    std::vector<std::string> names;
    for (const auto& sub : form.below) names.push_back(sub->app->get_name());
    for (const auto& word : app.remaining()) {
      if (word.starts_with("-")) continue;
      refuse(fmt::format("unknown command '{} {}'", full_name(app), word), suggestion(word, names));
    }
    refuse_leftovers(app);
    refuse(fmt::format("'{}' needs a command", full_name(app)), fmt::format("one of: {}", fmt::join(names, ", ")));
  }

  const Form::Impl& chosen() const {
    const auto* form = &root;
    for (;;) {
      const auto next =
          std::find_if(form->below.begin(), form->below.end(), [](const auto& sub) { return sub->app->parsed(); });
      if (next == form->below.end()) return *form;
      form = next->get();
    }
  }
};

Form Form::command(const std::string& name, const std::string& description) {
  auto* app = impl_->app->add_subcommand(name, description);
  app->allow_extras();  // refused by ourselves, with the name that was probably meant
  impl_->below.push_back(std::unique_ptr<Impl>{new Impl{app, {}, {}}});
  return Form{impl_->below.back().get()};
}

void Form::performs(std::function<int(Io&)> perform) { impl_->perform = std::move(perform); }
void Form::examples(const std::string& text) { impl_->app->footer("Examples:\n" + text); }
void Form::group(const std::string& heading) { group_ = heading; }

void Form::text(const std::string& names, std::string& into, const std::string& placeholder, const std::string& help) {
  impl_->app->add_option(names, into, help)->type_name(placeholder)->group(group_);
}

void Form::list(const std::string& names, std::vector<std::string>& into, const std::string& placeholder,
                const std::string& help) {
  impl_->app->add_option(names, into, help)->type_name(placeholder)->allow_extra_args(false)->group(group_);
}

void Form::flag(const std::string& names, bool& into, const std::string& help) {
  impl_->app->add_flag(names, into, help)->group(group_);
}

void Form::word(const std::string& name, std::string& into, const std::string& help) {
  impl_->app->add_option(name, into, help)->type_name("");
}

void Form::words(const std::string& name, std::vector<std::string>& into, const std::string& help) {
  impl_->app->add_option(name, into, help)->type_name("");
}

CommandLine::CommandLine(const std::string& description, std::string version) : impl_{std::make_unique<Impl>()} {
  auto& app = impl_->app;
  app.description(description);
  app.name("linkcast");
  app.set_help_flag("-h,--help", "what this is and how it is called");
  app.add_flag("--version", impl_->wants_version, "the version of the command");
  app.get_formatter()->column_width(34);
  app.allow_extras();
  impl_->version = std::move(version);
}

CommandLine::~CommandLine() = default;

Form CommandLine::root() { return Form{&impl_->root}; }

int CommandLine::perform(int argc, const char* const* argv, Io& io) {
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto& app = *impl_->chosen().app;
    io.out << help_of(app);
    return done;
  } catch (const CLI::ArgumentMismatch& e) {
    const std::string text = e.what();
    refuse(text.substr(0, text.find(':')) + ": the value is missing, or there is one too many",
           fmt::format("'{} --help' shows what it takes", full_name(*impl_->chosen().app)));
  } catch (const CLI::ParseError& e) {
    throw UsageError{std::string{"error: "} + e.what()};
  }
  if (impl_->wants_version) {
    io.out << impl_->version << '\n';
    return done;
  }
  const auto& form = impl_->chosen();
  if (!form.perform) Impl::ask_for_command(*form.app, form);
  refuse_leftovers(*form.app);
  return form.perform(io);
}

}  // namespace linkcast::cli
