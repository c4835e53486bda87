#include <array>

#include <dlfcn.h>

#include "tensor/gemm_backend.hpp"

namespace twinax::tensor {
namespace {

#if defined(TWINAX_HAS_DNNL) && defined(TWINAX_HAS_CBLAS)
constexpr std::array kFloat{GemmBackendRow<float>{"dnnl_sgemm", "oneDNN's dnnl_sgemm", &make_dnnl_sgemm},
                            GemmBackendRow<float>{"dnnl_matmul", "oneDNN's matmul primitive, kept by shape", &make_dnnl_matmul},
                            GemmBackendRow<float>{"cblas", "cblas_sgemm of OpenBLAS", &make_cblas<float>}};
#elif defined(TWINAX_HAS_DNNL)
constexpr std::array kFloat{GemmBackendRow<float>{"dnnl_sgemm", "oneDNN's dnnl_sgemm", &make_dnnl_sgemm},
                            GemmBackendRow<float>{"dnnl_matmul", "oneDNN's matmul primitive, kept by shape", &make_dnnl_matmul}};
#elif defined(TWINAX_HAS_CBLAS)
constexpr std::array kFloat{GemmBackendRow<float>{"cblas", "cblas_sgemm of OpenBLAS", &make_cblas<float>}};
#else
constexpr std::array kFloat{GemmBackendRow<float>{"eigen", "Eigen", &make_eigen<float>}};
#endif

#if defined(TWINAX_HAS_CBLAS)
constexpr std::array kDouble{GemmBackendRow<double>{"cblas", "cblas_dgemm of OpenBLAS", &make_cblas<double>}};
#else
constexpr std::array kDouble{GemmBackendRow<double>{"eigen", "Eigen", &make_eigen<double>}};
#endif

}  // namespace

template <>
std::span<const GemmBackendRow<float>> gemm_backends<float>() {
  return kFloat;
}
template <>
std::span<const GemmBackendRow<double>> gemm_backends<double>() {
  return kDouble;
}

void use_one_thread() {
  // OpenMP's number of threads belongs to the calling thread, and OpenBLAS's to the process; neither library need be linked here by name.
  thread_local bool done = false;
  if (done) return;
  done = true;
  for (const char* name : {"omp_set_num_threads", "openblas_set_num_threads"}) {
    void* const found = dlsym(RTLD_DEFAULT, name);
    if (found != nullptr) reinterpret_cast<void (*)(int)>(found)(1);
  }
}

}  // namespace twinax::tensor
