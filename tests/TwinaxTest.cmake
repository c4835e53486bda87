# How long a test may take if it doesn't say: a limit against hangs, so wide that a busy machine and a sanitizer fit in.
set(twinax_test_seconds 60)
if(TWINAX_SANITIZE)
  set(twinax_test_seconds 300)
endif()

# twinax_test(NAME SOURCES a.cpp ... [LINK target ...] [RANKS 1 2 3 4] [LABELS label ...] [TIMEOUT seconds])
# The one way to add a GoogleTest executable. Without RANKS it runs alone (GoogleTest's main); with RANKS it runs under mpiexec once
# for each number, as NAME.nK, with the main of tests/support that agrees on the result over all ranks.
function(twinax_test name)
  cmake_parse_arguments(test "" "TIMEOUT" "SOURCES;LINK;RANKS;LABELS" ${ARGN})
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT ${twinax_test_seconds})
  endif()
  add_executable(${name} ${test_SOURCES})
  twinax_sanitized_program(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${test_LINK} twinax_warnings twinax_sanitize GTest::gmock)
  if(test_RANKS)
    if(TWINAX_SANITIZE STREQUAL "thread")
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    target_link_libraries(${name} PRIVATE twinax_test_mpi_main)
    foreach(ranks ${test_RANKS})
      add_test(NAME ${name}.n${ranks}
               COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks} $<TARGET_FILE:${name}>)
      set_tests_properties(${name}.n${ranks} PROPERTIES LABELS "mpi;${test_LABELS}" PROCESSORS ${ranks} TIMEOUT ${test_TIMEOUT}
        ENVIRONMENT "${twinax_test_environment}")
    endforeach()
  else()
    target_link_libraries(${name} PRIVATE GTest::gmock_main)
    add_test(NAME ${name} COMMAND $<TARGET_FILE:${name}>)
    set(labels ${test_LABELS})
    if(NOT labels)
      set(labels unit)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${test_TIMEOUT} ENVIRONMENT "${twinax_test_environment}")
  endif()
endfunction()

# twinax_test_over_ucx(NAME RANKS 1 2 ..): the executable of a twinax_test with RANKS once more, on a world whose bytes go through UCX: over
# shared memory as NAME.ucx_shm.nK, over TCP on the loopback device as NAME.ucx_tcp.nK.
function(twinax_test_over_ucx name)
  cmake_parse_arguments(test "" "TIMEOUT" "RANKS;LABELS" ${ARGN})
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT ${twinax_test_seconds})
  endif()
  foreach(ranks ${test_RANKS})
    foreach(wires shm tcp)
      set(run ${name}.ucx_${wires}.n${ranks})
      add_test(NAME ${run} COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks} $<TARGET_FILE:${name}>)
      set(devices)
      if(wires STREQUAL "tcp")
        set(devices UCX_NET_DEVICES=lo)
      endif()
      set_tests_properties(${run} PROPERTIES LABELS "mpi;ucx;${test_LABELS}" PROCESSORS ${ranks} TIMEOUT ${test_TIMEOUT}
        ENVIRONMENT "${twinax_test_environment};TWINAX_TEST_TRANSPORT=ucx;UCX_TLS=self,${wires};${devices}")
    endforeach()
  endforeach()
endfunction()

# twinax_sanitized_program(NAME): what a program needs so that the suppressions of tests/support match in a sanitizer build.
function(twinax_sanitized_program name)
  if(TWINAX_SANITIZE)
    target_sources(${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/support/suppressions/no_dlclose.cpp)
  endif()
endfunction()

set(twinax_test_environment
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_WARN_UNUSED_ENV_VARS=n OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
    TWINAX_DATA_DIR=$ENV{TWINAX_DATA_DIR})
if(TWINAX_SANITIZE)
  set(suppressions ${CMAKE_CURRENT_LIST_DIR}/support/suppressions)
  list(APPEND twinax_test_environment
       TWINAX_TEST_SECONDS=140
       ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
       UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
       LSAN_OPTIONS=suppressions=${suppressions}/lsan.supp:print_suppressions=0
       TSAN_OPTIONS=suppressions=${suppressions}/tsan.supp:halt_on_error=1:second_deadlock_stack=1)
endif()
