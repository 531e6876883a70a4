// The process: streams, signals, exit status. Everything else is cli::run.
#include <pthread.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stop_token>
#include <thread>

#include "linkcast/cli/run.hpp"

namespace {

/// Ctrl-C: what is finished is printed and nothing new begun; what takes longer than half a second is given up.
void end_on_signal(const std::stop_source& stop) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread{[signals, stop]() mutable {
    int which = 0;
    if (sigwait(&signals, &which) != 0) return;
    // First: what stopping does may itself hang (a file on a server that is gone).
    std::thread{[which] {
      std::this_thread::sleep_for(std::chrono::milliseconds{500});
      ::_exit(128 + which);
    }}.detach();
    stop.request_stop();
  }}.detach();
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // A reader that has seen enough (| head) ends us quietly, also where our parent ignores broken pipes.
  std::signal(SIGPIPE, SIG_DFL);
  // A file that may not grow is an error of writing, with a message.
  std::signal(SIGXFSZ, SIG_IGN);
  std::stop_source stop;
  end_on_signal(stop);
  int status = linkcast::cli::run(argc, argv, std::cout, std::cerr, stop.get_token());
  if (!std::cout.flush()) {
    std::cerr << "error: the answer could not be written\n";
    status = status == 0 ? 2 : status;
  }
  return status;
}
