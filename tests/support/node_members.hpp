#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "twinax/base/error.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/collective/node_memory.hpp"
#include "twinax/collective/own_collectives.hpp"

#include "support/run_members.hpp"

namespace twinax::test {

/// Zeroed memory for members that are threads.
inline std::shared_ptr<std::byte[]> common_memory(int members, Bytes heap) {
  const auto bytes = static_cast<std::size_t>(collective::NodeMemory::size(members, heap).value);
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
  std::fill_n(memory, bytes, std::byte{0});
  return {memory, [](std::byte* begin) { std::free(begin); }};
}

/// A buffer in a heap, filled and given back.
class HeapBuffer {
 public:
  HeapBuffer(std::pmr::memory_resource& heap, std::span<const std::byte> content) : heap_(heap), size_(content.size()) {
    data_ = static_cast<std::byte*>(heap.allocate(size_, 64));
    std::ranges::copy(content, data_);
  }
  HeapBuffer(const HeapBuffer&) = delete;
  HeapBuffer& operator=(const HeapBuffer&) = delete;
  ~HeapBuffer() {
    std::fill_n(data_, size_, std::byte{0xee});  // whoever reads it too late sees this
    heap_.deallocate(data_, size_, 64);
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

 private:
  std::pmr::memory_resource& heap_;
  std::size_t size_;
  std::byte* data_;
};

/// Collectives whose buffers are in this member's heap: what callers give is copied there, and the result back.
class InHeap final : public collective::Collectives {
 public:
  InHeap(collective::Collectives& inner, std::pmr::memory_resource& heap) : inner_(inner), heap_(heap) {}
  [[nodiscard]] const collective::Group& group() const override { return inner_.group(); }
  void all_gather(std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose) override {
    const HeapBuffer buffer(heap_, std::as_bytes(whole));
    const auto at = shard.data() >= whole.data() && shard.data() < whole.data() + whole.size() ? shard.data() - whole.data() : -1;
    const auto there = buffer.as<float>();
    inner_.all_gather(at >= 0 ? std::span<const float>(there.subspan(static_cast<std::size_t>(at), shard.size())) : shard, there, wire,
                      purpose);
    std::ranges::copy(there, whole.begin());
  }
  void reduce_scatter(std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) override {
    const HeapBuffer buffer(heap_, std::as_bytes(whole));
    inner_.reduce_scatter(buffer.as<float>(), shard, wire, purpose);
  }
  void all_reduce(std::span<float> values, Dtype wire, net::Purpose purpose) override {
    const HeapBuffer buffer(heap_, std::as_bytes(values));
    inner_.all_reduce(buffer.as<float>(), wire, purpose);
    std::ranges::copy(buffer.as<float>(), values.begin());
  }
  void all_reduce(std::span<double> values, net::Purpose purpose) override { inner_.all_reduce(values, purpose); }
  void all_gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose) override {
    inner_.all_gather_bytes(mine, all, purpose);
  }
  void broadcast(std::span<std::byte> data, int root, net::Purpose purpose) override {
    const HeapBuffer buffer(heap_, data);
    inner_.broadcast(buffer.bytes(), root, purpose);
    std::ranges::copy(buffer.bytes(), data.begin());
  }
  void barrier() override { inner_.barrier(); }

 private:
  collective::Collectives& inner_;
  std::pmr::memory_resource& heap_;
};

/// Where members' buffers are.
enum class Buffers { Private, Heap, Mixed, NoRoom };

/// Runs `body` on direct collectives over `memory`, on one member. Mixed: every second member's buffers are in its heap. NoRoom: every
/// second member's heap is full, so that nothing can be staged there.
inline void with_direct(net::Transport& transport, const net::WaitContext& wait, const collective::Group& group,
                        const std::shared_ptr<std::byte[]>& memory, Bytes heap, Buffers buffers, collective::OwnOptions options,
                        const std::function<void(collective::Collectives&)>& body) {
  collective::NodeMemory node(memory, group.size(), group.index, heap);
  options.node = &node;
  options.wait = wait;
  const auto collectives = make_own(transport, group, options);
  const bool is_second = group.index % 2 == 1;
  if (buffers == Buffers::Heap || (buffers == Buffers::Mixed && is_second)) {
    InHeap in_heap(*collectives, node);
    body(in_heap);
    return;
  }
  const bool is_full = buffers == Buffers::NoRoom && is_second;
  void* const all = is_full ? node.allocate(static_cast<std::size_t>(heap.value), 64) : nullptr;
  body(*collectives);
  if (is_full) node.deallocate(all, static_cast<std::size_t>(heap.value), 64);
}

}  // namespace twinax::test
