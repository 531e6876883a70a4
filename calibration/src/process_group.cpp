// See process_group.hpp.
#include "process_group.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::calibration {
namespace {

using Clock = std::chrono::steady_clock;

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

void read_all(int socket, void* data, std::size_t n, int peer) {
  auto* p = static_cast<char*>(data);
  while (n > 0) {
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

std::string read_message(int socket, int peer) {
  std::array<unsigned char, 8> head{};
  read_all(socket, head.data(), head.size(), peer);
  std::uint64_t n = 0;
  for (const auto byte : head) n = n << 8 | byte;
  if (n > longest_message) throw sim::InputError(fmt::format("rank {} speaks another protocol", peer));
  std::string message(n, 0);
  read_all(socket, message.data(), n, peer);
  return message;
}

void without_delay(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
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

ProcessGroup::ProcessGroup(const PlaceInJob& place, std::chrono::seconds patience)
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
  const int door = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (door < 0) throw sim::InputError(fmt::format("socket failed: {}", std::strerror(errno)));
  struct Close {
    int socket;
    ~Close() { ::close(socket); }
  } const closed{door};
  const int on = 1, off = 0;
  ::setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(door, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 here{};
  here.sin6_family = AF_INET6;
  here.sin6_addr = in6addr_any;
  here.sin6_port = htons(static_cast<std::uint16_t>(place_.port + 1));
  if (::bind(door, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 || ::listen(door, 4096) != 0)
    throw sim::InputError(fmt::format("cannot listen on port {}: {}", place_.port + 1, std::strerror(errno)),
                          "it is the port after MASTER_PORT; choose another one");
  for (int missing = place_.size - 1; missing > 0;) {
    pollfd wait{door, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) == 0)
      throw sim::InputError(
          fmt::format("{} of {} ranks did not come", missing, place_.size),
          fmt::format("each must reach {}:{}; start one process for each GPU", place_.address, place_.port + 1));
    const int socket = ::accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    // Whoever else knocks at the port is let go.
    const timeval patience{5, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::optional<int> rank;
    try {
      const auto hello = read_message(socket, -1);
      if (hello.starts_with(greeting)) rank = number(hello.substr(greeting.size()), 1, place_.size - 1);
    } catch (const sim::InputError&) {
    }
    if (!rank || sockets_[static_cast<std::size_t>(*rank)] >= 0) {
      ::close(socket);
      continue;
    }
    const timeval forever{0, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
    without_delay(socket);
    sockets_[static_cast<std::size_t>(*rank)] = socket;
    --missing;
  }
}

void ProcessGroup::connect(Clock::time_point until) {
  const auto port = std::to_string(place_.port + 1);
  std::string reason;
  while (Clock::now() < until) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = ::getaddrinfo(place_.address.c_str(), port.c_str(), &hints, &found); error != 0) {
      reason = ::gai_strerror(error);
    } else {
      for (const auto* a = found; a != nullptr && sockets_[0] < 0; a = a->ai_next) {
        const int socket = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (socket >= 0 && ::connect(socket, a->ai_addr, a->ai_addrlen) == 0) {
          sockets_[0] = socket;
        } else {
          reason = std::strerror(errno);
          if (socket >= 0) ::close(socket);
        }
      }
      ::freeaddrinfo(found);
    }
    if (sockets_[0] >= 0) {
      without_delay(sockets_[0]);
      write_message(sockets_[0], fmt::format("{}{}", greeting, place_.rank), 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  throw sim::InputError(
      fmt::format("rank {} cannot reach rank 0 at {}:{}: {}", place_.rank, place_.address, port, reason),
      "MASTER_ADDR must be rank 0's host as this one sees it");
}

void ProcessGroup::send(int peer, const std::string& message) {
  write_message(sockets_.at(static_cast<std::size_t>(peer)), message, peer);
}
std::string ProcessGroup::receive(int peer) { return read_message(sockets_.at(static_cast<std::size_t>(peer)), peer); }

}  // namespace linkcast::calibration
