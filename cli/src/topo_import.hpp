// `linkcast topo import`. See topo_import.cpp.
#pragma once

#include "form.hpp"

namespace linkcast::cli {

/// `topo`: the form of `linkcast topo`.
void add_topo_import(Form& topo);

}  // namespace linkcast::cli
