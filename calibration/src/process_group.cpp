// See process_group.hpp.
#include "process_group.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::calibration {
namespace {

using Clock = ProcessGroup::Clock;

constexpr std::string_view greeting = "linkcast measure 1 ";
constexpr std::uint64_t longest_message = std::uint64_t{64} << 20;
constexpr int usual_port = 29500;  // torchrun's

std::optional<int> number(const std::optional<std::string>& text, int least, int most) {
  int n = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), n);
  if (error != std::errc{} || end != text->data() + text->size() || n < least || n > most) return std::nullopt;
  return n;
}

[[noreturn]] void lost(int peer) {
  throw sim::InputError(fmt::format("the connection with rank {} broke", peer), "its own message says why it ended");
}

void write_all(int socket, const void* data, std::size_t n, int peer) {
  const auto* p = static_cast<const char*>(data);
  while (n > 0) {
    const auto done = ::send(socket, p, n, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) lost(peer);
    p += done;
    n -= static_cast<std::size_t>(done);
  }
}

constexpr auto no_end = Clock::time_point::max();

/// Whether a socket is ready for `events` before `until`.
bool ready(int socket, short events, Clock::time_point until) {
  for (;;) {
    pollfd wait{socket, events, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int timeout = until == no_end ? -1 : static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    const int n = ::poll(&wait, 1, timeout);
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
    if (until != no_end && Clock::now() >= until) return false;
  }
}

void read_all(int socket, void* data, std::size_t n, int peer, Clock::time_point until) {
  auto* p = static_cast<char*>(data);
  while (n > 0) {
    if (!ready(socket, POLLIN, until)) lost(peer);
    const auto done = ::recv(socket, p, n, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) lost(peer);
    p += done;
    n -= static_cast<std::size_t>(done);
  }
}

/// Length in network order, then the bytes.
void write_message(int socket, const std::string& message, int peer) {
  std::array<unsigned char, 8> head{};
  for (std::size_t i = 0; i < head.size(); ++i)
    head[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(message.size()) >> (8 * (7 - i)));
  write_all(socket, head.data(), head.size(), peer);
  write_all(socket, message.data(), message.size(), peer);
}

std::string read_message(int socket, int peer, Clock::time_point until = no_end) {
  std::array<unsigned char, 8> head{};
  read_all(socket, head.data(), head.size(), peer, until);
  std::uint64_t n = 0;
  for (const auto byte : head) n = n << 8 | byte;
  if (n > longest_message) throw sim::InputError(fmt::format("rank {} speaks another protocol", peer));
  std::string message(n, 0);
  read_all(socket, message.data(), n, peer, until);
  return message;
}

/// No waiting for small messages; and a host that vanished without a word is noticed within a minute.
void configure(int socket) {
  const int on = 1, idle_s = 30, interval_s = 10, probes = 3;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/// "node0:29501", "[fd00::1]:29501".
std::string place_text(const std::string& address, int port) {
  const bool bare = address.find(':') == std::string::npos || address.starts_with('[');
  return bare ? fmt::format("{}:{}", address, port) : fmt::format("[{}]:{}", address, port);
}

/// A socket that listens on all of this host's addresses, of IPv6 and IPv4; of IPv4 only where the host has no IPv6.
int open_door(int port) {
  int reason = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    const int door = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (door < 0) {
      reason = errno;
      continue;
    }
    const int on = 1, off = 0;
    ::setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) ::setsockopt(door, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_any;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_ANY);
    four.sin_port = six.sin6_port;
    const auto* here = family == AF_INET6 ? reinterpret_cast<const sockaddr*>(&six)  // NOLINT
                                          : reinterpret_cast<const sockaddr*>(&four);
    const socklen_t size = family == AF_INET6 ? sizeof six : sizeof four;
    if (::bind(door, here, size) == 0 && ::listen(door, 4096) == 0) return door;
    reason = errno;
    ::close(door);
    if (reason == EADDRINUSE || reason == EACCES) break;
  }
  throw sim::InputError(fmt::format("cannot listen on port {}: {}", port, std::strerror(reason)),
                        "it is the port after MASTER_PORT; choose another one");
}

/// A connection to one address, or the reason in `errno`. No address may take all of the time.
int connect_to(const addrinfo& a, Clock::time_point until) {
  constexpr std::chrono::seconds longest{5};
  const int socket = ::socket(a.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  int reason = 0;
  if (::connect(socket, a.ai_addr, a.ai_addrlen) != 0) reason = errno;
  if (reason == EINPROGRESS) {
    socklen_t size = sizeof reason;
    if (!ready(socket, POLLOUT, std::min(until, Clock::now() + longest)))
      reason = ETIMEDOUT;
    else if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &size) != 0)
      reason = errno;
  }
  if (reason == 0) {
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
    return socket;
  }
  ::close(socket);
  errno = reason;
  return -1;
}

}  // namespace

std::optional<PlaceInJob> place_in_job(const Environment& env) {
  const bool torch = env("WORLD_SIZE").has_value() || env("RANK").has_value();
  const bool mpi = !torch && env("OMPI_COMM_WORLD_SIZE").has_value();
  if (!torch && !mpi) return std::nullopt;
  const std::array<const char*, 3> names =
      torch ? std::array<const char*, 3>{"RANK", "WORLD_SIZE", "LOCAL_RANK"}
            : std::array<const char*, 3>{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"};
  std::string wrong;
  const auto need = [&](const char* name, int least, int most) {
    const auto text = env(name);
    const auto n = number(text, least, most);
    if (!n)
      wrong += fmt::format("{}{} is {}", wrong.empty() ? "" : ", ", name,
                           text ? fmt::format("'{}', not a number from {} to {}", *text, least, most) : "not set");
    return n.value_or(least);
  };
  PlaceInJob place;
  place.size = need(names[1], 1, 1'000'000);
  place.rank = need(names[0], 0, std::max(place.size - 1, 0));
  place.local_rank = need(names[2], 0, 1023);
  if (wrong.empty() && place.size == 1) return std::nullopt;
  const bool one_host = mpi && env("OMPI_COMM_WORLD_LOCAL_SIZE") == env("OMPI_COMM_WORLD_SIZE");
  place.address = env("MASTER_ADDR").value_or(one_host ? "127.0.0.1" : "");
  if (place.address.empty()) wrong += std::string{wrong.empty() ? "" : ", "} + "MASTER_ADDR is not set";
  place.port = env("MASTER_PORT") ? need("MASTER_PORT", 1, 65534) : usual_port;
  if (!wrong.empty())
    throw sim::InputError(
        "one of several processes, but " + wrong,
        "torchrun sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; mpirun the ranks, and "
        "passes the other two on with -x; without them (env -u RANK -u WORLD_SIZE) one process measures");
  return place;
}

bool one_of_several_processes(const Environment& environment) { return place_in_job(environment).has_value(); }

ProcessGroup::ProcessGroup(const PlaceInJob& place, Clock::duration patience)
    : place_{place}, sockets_(static_cast<std::size_t>(place.rank == 0 ? place.size : 1), -1) {
  const auto until = Clock::now() + patience;
  try {
    place.rank == 0 ? listen(until) : connect(until);
  } catch (...) {
    for (const int s : sockets_)
      if (s >= 0) ::close(s);
    throw;
  }
}

ProcessGroup::~ProcessGroup() {
  for (const int s : sockets_)
    if (s >= 0) ::close(s);
}

void ProcessGroup::listen(Clock::time_point until) {
  struct Door {
    int socket;
    ~Door() { ::close(socket); }
  } const door{open_door(place_.port + 1)};
  for (;;) {
    std::vector<int> missing;
    for (int rank = 1; rank < place_.size; ++rank)
      if (sockets_[static_cast<std::size_t>(rank)] < 0) missing.push_back(rank);
    if (missing.empty()) return;
    if (!ready(door.socket, POLLIN, until))
      throw sim::InputError(
          fmt::format("{} of {} processes did not come: {}", missing.size(), place_.size, ranks_in_words(missing)),
          fmt::format("each must reach {}; start one process for each GPU, and see what these print",
                      place_text(place_.address, place_.port + 1)));
    const int socket = ::accept4(door.socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        throw sim::InputError(fmt::format("cannot take {} connections: {}", place_.size - 1, std::strerror(errno)),
                              "raise the limit of open files: ulimit -n 65536");
      continue;
    }
    // Whoever else knocks at the port is let go.
    std::optional<int> rank;
    try {
      const auto hello = read_message(socket, -1, std::min(until, Clock::now() + std::chrono::seconds{5}));
      if (hello.starts_with(greeting)) rank = number(hello.substr(greeting.size()), 1, place_.size - 1);
    } catch (const sim::InputError&) {
    }
    if (!rank) {
      ::close(socket);
      continue;
    }
    auto& known = sockets_[static_cast<std::size_t>(*rank)];
    if (known >= 0) {
      ::close(socket);
      throw sim::InputError(fmt::format("two processes say that they are rank {}", *rank),
                            "RANK must be another one in each; is a process of an earlier run still there?");
    }
    configure(socket);
    known = socket;
  }
}

void ProcessGroup::connect(Clock::time_point until) {
  const auto port = std::to_string(place_.port + 1);
  auto address = place_.address;
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  std::string reason = "no time left";
  while (Clock::now() < until) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = ::getaddrinfo(address.c_str(), port.c_str(), &hints, &found); error != 0) {
      reason = ::gai_strerror(error);
    } else {
      reason.clear();
      for (const auto* a = found; a != nullptr && sockets_[0] < 0; a = a->ai_next) {
        sockets_[0] = connect_to(*a, until);
        if (sockets_[0] >= 0) break;
        const std::string why = std::strerror(errno);
        std::array<char, NI_MAXHOST> name{};
        ::getnameinfo(a->ai_addr, a->ai_addrlen, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST);
        reason += fmt::format("{}{}: {}", reason.empty() ? "" : ", ", name.data(), why);
      }
      ::freeaddrinfo(found);
    }
    if (sockets_[0] >= 0) {
      configure(sockets_[0]);
      write_message(sockets_[0], fmt::format("{}{}", greeting, place_.rank), 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  throw sim::InputError(
      fmt::format("rank {} cannot reach rank 0 at {} ({})", place_.rank, place_text(address, place_.port + 1), reason),
      "MASTER_ADDR must be rank 0's host as this one sees it");
}

void ProcessGroup::send(int peer, const std::string& message) {
  write_message(sockets_.at(static_cast<std::size_t>(peer)), message, peer);
}
std::string ProcessGroup::receive(int peer) { return read_message(sockets_.at(static_cast<std::size_t>(peer)), peer); }
std::optional<std::string> ProcessGroup::receive(int peer, Clock::time_point until) {
  if (!ready(sockets_.at(static_cast<std::size_t>(peer)), POLLIN, until)) return std::nullopt;
  return receive(peer);
}

std::string ranks_in_words(std::span<const int> ascending) {
  std::string out;
  for (std::size_t i = 0; i < ascending.size();) {
    auto last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    out += out.empty() ? "" : ", ";
    out += last == i ? fmt::format("{}", ascending[i]) : fmt::format("{}-{}", ascending[i], ascending[last]);
    i = last + 1;
  }
  return (ascending.size() == 1 ? "rank " : "ranks ") + out;
}

}  // namespace linkcast::calibration
