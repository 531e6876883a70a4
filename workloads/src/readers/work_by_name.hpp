// What a kernel or a layer is mostly made of, by its name: of traces that say no more.
#pragma once

#include <string_view>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

Work work_by_name(std::string_view name);

}  // namespace linkcast::workloads::readers
