#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace twinax {

/// Where a native call was checked; filled in by default arguments (`std::source_location` is not in clang 14).
struct Where {
  const char* file;
  int line;
};

/// The base of every exception of the project. The message says what was being done, to what, what came back, what to try.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A mistake in the configuration or on the command line: the message names file, key, line, value and what is allowed.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A call with arguments that do not fit together; the message names both.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A file or its content that can't be used; the message names the file and, where there is one, the line.
class FileError : public Error {
 public:
  using Error::Error;
};

/// A native library's call that failed; `code()` is what it returned.
class NativeError : public Error {
 public:
  NativeError(long code, const std::string& message) : Error(message), code_(code) {}
  /// The native return code.
  [[nodiscard]] long code() const noexcept { return code_; }

 private:
  long code_;
};

/// An MPI call failed.
class MpiError : public NativeError {
 public:
  using NativeError::NativeError;
};

/// A UCX call failed.
class UcxError : public NativeError {
 public:
  using NativeError::NativeError;
};

/// An HDF5 call failed.
class Hdf5Error : public NativeError {
 public:
  using NativeError::NativeError;
};

/// An operating system call failed; `code()` is errno.
class SystemError : public NativeError {
 public:
  using NativeError::NativeError;
};

/// A peer is gone, or has told that it failed.
class PeerLost : public Error {
 public:
  using Error::Error;
};

/// A peer sent what it may not; the message names the rank and what is wrong with it.
class ProtocolError : public Error {
 public:
  using Error::Error;
};

/// A peer could not serve a request; the message names the rank, the handler and its own words.
class RemoteError : public Error {
 public:
  using Error::Error;
};

/// The memory budget does not hold what a step needs.
class OutOfBudget : public Error {
 public:
  using Error::Error;
};

/// What to tell of an exception that ends the program: what() for those of the project; for the standard library's that say only
/// "bad_alloc" or "Resource temporarily unavailable", which limit was met on which host.
[[nodiscard]] std::string failure_text(const std::exception& failure);

}  // namespace twinax
