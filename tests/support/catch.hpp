// Catch2 2.13 (Debian 12) and 3.x have different header names; tests include this one.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto ContainsText(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
#else
#include <catch2/catch.hpp>
inline auto ContainsText(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif
