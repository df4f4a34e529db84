/* SPDX-License-Identifier: MIT */
/* For tests/cxx/compilers: does a compiler know its options, and fit the library it takes? lull includes these. */
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
