#include "twinax/net/mpi_env.hpp"

#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "twinax/base/log.hpp"

namespace twinax::net {
namespace {

std::string mpi_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return fmt::format("MPI error {}", code);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

void check_mpi(int code, std::string_view doing, Where where) {
  if (code != MPI_SUCCESS) throw MpiError(code, fmt::format("{}: {} ({}:{})", doing, mpi_text(code), where.file, where.line));
}

MpiEnv::MpiEnv(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided), "starting MPI");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "making MPI return its errors");
  if (provided < MPI_THREAD_MULTIPLE) {
    throw MpiError(provided,
                   fmt::format("starting MPI: {} does not let several threads call it (MPI_THREAD_MULTIPLE); use a build that does",
                               library_version()));
  }
}

MpiEnv::~MpiEnv() {
  if (MPI_Finalize() != MPI_SUCCESS) log_error("finalizing MPI failed");
}

std::string MpiEnv::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "asking for MPI's version");
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find(','));
}

void MpiEnv::abort(int exit_code) noexcept {
  constexpr unsigned kLongestAbortSeconds = 3;
  alarm(kLongestAbortSeconds);  // where MPI can't even abort, the process ends by the signal
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);
}

}  // namespace twinax::net
