// The command `linkcast` as a function, so that tests call it without a process. Keeps nothing between two calls.
#pragma once

#include <iosfwd>
#include <stop_token>

namespace linkcast::cli {

/// Exit status: 0 done, 1 a goal was missed or a check failed, 2 the input was wrong, 3 an internal error,
/// 130 stopped from outside. The answer goes to `out`, everything else to `err`. `stop`: what is finished is printed,
/// nothing new is begun.
int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err, std::stop_token stop = {});

}  // namespace linkcast::cli
