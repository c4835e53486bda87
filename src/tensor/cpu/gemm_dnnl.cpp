#include <array>
#include <map>

#include <dnnl.h>
#include <dnnl_debug.h>
#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/handle.hpp"

#include "tensor/gemm_backend.hpp"

namespace twinax::tensor {
namespace {

void check_dnnl(dnnl_status_t status, const char* doing, const Product& product) {
  if (status != dnnl_success) {
    throw NativeError(status, fmt::format("oneDNN, {} for {}: status {} ({}); choose another backend for this shape", doing,
                                          to_text(product), static_cast<int>(status), dnnl_status2str(status)));
  }
}

template <class T, dnnl_status_t (*kDestroy)(T)>
struct Closes {
  using Native = T;
  static Native null() { return nullptr; }
  static void close(Native native) noexcept { (void)kDestroy(native); }
};
using Engine = Handle<Closes<dnnl_engine_t, &dnnl_engine_destroy>>;
using Stream = Handle<Closes<dnnl_stream_t, &dnnl_stream_destroy>>;
using Primitive = Handle<Closes<dnnl_primitive_t, &dnnl_primitive_destroy>>;
using PrimitiveDesc = Handle<Closes<dnnl_primitive_desc_t, &dnnl_primitive_desc_destroy>>;
using Memory = Handle<Closes<dnnl_memory_t, &dnnl_memory_destroy>>;
using Attributes = Handle<Closes<dnnl_primitive_attr_t, &dnnl_primitive_attr_destroy>>;
using PostOps = Handle<Closes<dnnl_post_ops_t, &dnnl_post_ops_destroy>>;

bool transposes_a(const Product& p) {
  return p.form == Form::TN || p.form == Form::TT;
}
bool transposes_b(const Product& p) {
  return p.form == Form::NT || p.form == Form::TT;
}

class Sgemm final : public GemmBackend<float> {
 public:
  void run(const Product& p, const float* a, const float* b, float* c) override {
    const dnnl_status_t status = dnnl_sgemm(transposes_a(p) ? 'T' : 'N', transposes_b(p) ? 'T' : 'N', p.m, p.n, p.k, 1.0F, a, p.stride_a, b,
                                            p.stride_b, p.into == Into::Add ? 1.0F : 0.0F, c, p.stride_c);
    check_dnnl(status, "dnnl_sgemm", p);
  }
};

/// A primitive of one shape with the memory objects whose addresses change from call to call.
struct Ready {
  Primitive primitive;
  Memory a, b, c;
};

class MatmulPrimitive final : public GemmBackend<float> {
 public:
  MatmulPrimitive() {
    dnnl_engine_t engine = nullptr;
    check_dnnl(dnnl_engine_create(&engine, dnnl_cpu, 0), "creating an engine", {});
    engine_ = Engine(engine);
    dnnl_stream_t stream = nullptr;
    check_dnnl(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "creating a stream", {});
    stream_ = Stream(stream);
  }

  void run(const Product& p, const float* a, const float* b, float* c) override {
    auto found = ready_.find(p);
    if (found == ready_.end()) found = ready_.emplace(p, make(p)).first;
    const Ready& ready = found->second;
    // oneDNN takes inputs as void* too; it does not write them
    check_dnnl(dnnl_memory_set_data_handle(ready.a.get(), const_cast<float*>(a)), "setting an operand", p);
    check_dnnl(dnnl_memory_set_data_handle(ready.b.get(), const_cast<float*>(b)), "setting an operand", p);
    check_dnnl(dnnl_memory_set_data_handle(ready.c.get(), c), "setting the result", p);
    const std::array arguments{dnnl_exec_arg_t{DNNL_ARG_SRC, ready.a.get()}, dnnl_exec_arg_t{DNNL_ARG_WEIGHTS, ready.b.get()},
                               dnnl_exec_arg_t{DNNL_ARG_DST, ready.c.get()}};
    check_dnnl(dnnl_primitive_execute(ready.primitive.get(), stream_.get(), static_cast<int>(arguments.size()), arguments.data()),
               "executing a matmul", p);
    check_dnnl(dnnl_stream_wait(stream_.get()), "waiting for a matmul", p);
  }

 private:
  static dnnl_memory_desc_t describe(const Product& p, std::int64_t rows, std::int64_t columns, std::int64_t stride, bool transposed) {
    dnnl_memory_desc_t desc;
    const dnnl_dims_t extents{rows, columns};
    const dnnl_dims_t strides{transposed ? 1 : stride, transposed ? stride : 1};
    check_dnnl(dnnl_memory_desc_init_by_strides(&desc, 2, extents, dnnl_f32, strides), "describing an operand", p);
    return desc;
  }

  [[nodiscard]] Memory memory(const Product& p, const dnnl_memory_desc_t& desc) const {
    dnnl_memory_t made = nullptr;
    check_dnnl(dnnl_memory_create(&made, &desc, engine_.get(), DNNL_MEMORY_NONE), "creating a memory object", p);
    return Memory(made);
  }

  [[nodiscard]] static Attributes attributes(const Product& p) {
    dnnl_primitive_attr_t made = nullptr;
    check_dnnl(dnnl_primitive_attr_create(&made), "creating attributes", p);
    Attributes owned(made);
    if (p.into == Into::Add) {
      dnnl_post_ops_t post_ops = nullptr;
      check_dnnl(dnnl_post_ops_create(&post_ops), "creating post-operations", p);
      const PostOps owned_post_ops(post_ops);
      check_dnnl(dnnl_post_ops_append_sum(post_ops, 1.0F), "adding to the result", p);
      check_dnnl(dnnl_primitive_attr_set_post_ops(made, post_ops), "adding to the result", p);
    }
    return owned;
  }

  [[nodiscard]] Ready make(const Product& p) const {
    const dnnl_memory_desc_t a = describe(p, p.m, p.k, p.stride_a, transposes_a(p));
    const dnnl_memory_desc_t b = describe(p, p.k, p.n, p.stride_b, transposes_b(p));
    const dnnl_memory_desc_t c = describe(p, p.m, p.n, p.stride_c, false);
    dnnl_matmul_desc_t operation;
    check_dnnl(dnnl_matmul_desc_init(&operation, &a, &b, nullptr, &c), "describing a matmul", p);
    const Attributes with = attributes(p);
    dnnl_primitive_desc_t desc = nullptr;
    check_dnnl(dnnl_primitive_desc_create(&desc, &operation, with.get(), engine_.get(), nullptr), "describing a matmul", p);
    const PrimitiveDesc owned_desc(desc);
    dnnl_primitive_t primitive = nullptr;
    check_dnnl(dnnl_primitive_create(&primitive, desc), "creating a matmul", p);
    return {Primitive(primitive), memory(p, a), memory(p, b), memory(p, c)};
  }

  Engine engine_;
  Stream stream_;
  std::map<Product, Ready> ready_;
};

}  // namespace

std::unique_ptr<GemmBackend<float>> make_dnnl_sgemm() {
  return std::make_unique<Sgemm>();
}
std::unique_ptr<GemmBackend<float>> make_dnnl_matmul() {
  return std::make_unique<MatmulPrimitive>();
}

}  // namespace twinax::tensor
