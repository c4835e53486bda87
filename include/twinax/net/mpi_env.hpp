#pragma once

#include <string>
#include <string_view>

#include <mpi.h>

#include "twinax/base/error.hpp"

namespace twinax::net {

/// Throws MpiError unless `code` is MPI_SUCCESS; `doing` says what was being done, to what.
void check_mpi(int code, std::string_view doing, Where where = {__builtin_FILE(), __builtin_LINE()});

/// Owns MPI_Init_thread and MPI_Finalize: one a process. The world's errors are returned, not fatal.
class MpiEnv {
 public:
  /// Starts MPI and checks that several threads may call it. Throws MpiError.
  MpiEnv(int* argc, char*** argv);
  MpiEnv(const MpiEnv&) = delete;
  MpiEnv& operator=(const MpiEnv&) = delete;
  /// Finalizes. Collective.
  ~MpiEnv();

  /// "Open MPI v4.1.4".
  [[nodiscard]] static std::string library_version();
  /// Ends the job on all ranks within seconds, whatever state they are in.
  [[noreturn]] static void abort(int exit_code) noexcept;
};

}  // namespace twinax::net
