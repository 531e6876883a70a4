// SHA-256 (FIPS 180-4), as `sha256sum` has it: of what a study read, so that anyone can see whether he has the same
// files. Not for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace linkcast::planning {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);
std::string hex(const Digest& digest);
std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace linkcast::planning
