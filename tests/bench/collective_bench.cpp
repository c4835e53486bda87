// How fast collectives move bytes, as bus bandwidth and as a share of what all ranks copy at the same time:
// collective_bench [ranks] [google benchmark's options], where ranks are threads; under mpirun: mpirun -n 2 collective_bench mpi
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "twinax/base/units_text.hpp"
#include "twinax/collective/native_mpi.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/collective/traffic.hpp"
#include "twinax/net/bootstrap.hpp"

namespace {

using namespace twinax;
using collective::Collectives;
using collective::Operation;

using collective::kOperations;
constexpr std::array kWires{"fp32", "bf16"};  // in the order of Dtype
constexpr std::array<std::int64_t, 4> kSizes{1 << 12, 1 << 16, 1 << 20, 1 << 24};

/// What all ranks do next; sent by the first.
struct Order {
  std::int32_t implementation = -1;  // none: the end
  Operation operation = Operation::AllGather;
  Dtype wire = Dtype::Fp32;
  std::int64_t elements = 0;  // of the whole, a multiple of the ranks
};

/// One rank's part.
class Bench {
 public:
  explicit Bench(net::World& world) : world_(world), control_(own("ring", 2)) {
    implementations_.push_back({"ring", own("ring", 3)});
    implementations_.push_back({"pairwise", own("pairwise", 4)});
    if (world.mpi_comm() != nullptr) {
      implementations_.push_back({"native", make_native_mpi(*world.mpi_comm(), group(), world.wait_context())});
    }
  }

  struct Implementation {
    std::string name;
    std::unique_ptr<Collectives> collectives;
  };
  [[nodiscard]] const std::vector<Implementation>& implementations() const { return implementations_; }
  [[nodiscard]] int ranks() const { return world_.size(); }

  /// The first rank gives the order; all carry it out. The time of the slowest.
  Seconds carry_out(Order& order) {
    control_->broadcast(std::as_writable_bytes(std::span(&order, 1)), 0, net::Purpose::Control);
    if (order.implementation < 0) return Seconds{0};
    whole_.resize(std::max(whole_.size(), static_cast<std::size_t>(order.elements)));
    shard_.resize(whole_.size());
    control_->barrier();
    const Seconds begin = world_.clock().now();
    run(order);
    return slowest(world_.clock().now() - begin);
  }

  /// Bytes/s that the slowest rank copies while all do: the best of some tries.
  BytesPerSecond copy_rate() {
    constexpr std::size_t kElements = 1 << 23;
    whole_.resize(std::max(whole_.size(), kElements));
    shard_.resize(whole_.size());
    Seconds best{1e9};
    for (int i = 0; i < 10; ++i) {
      control_->barrier();
      const Seconds begin = world_.clock().now();
      std::memcpy(shard_.data(), whole_.data(), kElements * sizeof(float));
      benchmark::ClobberMemory();
      best = std::min(best, slowest(world_.clock().now() - begin));
    }
    return Bytes{static_cast<std::int64_t>(kElements * sizeof(float))} / best;
  }

 private:
  [[nodiscard]] collective::Group group() const { return collective::Group::first(world_.size(), world_.rank()); }
  [[nodiscard]] std::unique_ptr<Collectives> own(const std::string& algorithm, std::uint8_t lane) const {
    return make_own(world_.transport(), group(), {.lane = lane, .algorithm = algorithm});
  }

  void run(const Order& order) {
    Collectives& collectives = *implementations_[static_cast<std::size_t>(order.implementation)].collectives;
    const std::span<float> whole = std::span(whole_).first(static_cast<std::size_t>(order.elements));
    const std::span<float> shard = std::span(shard_).first(whole.size() / static_cast<std::size_t>(ranks()));
    switch (order.operation) {
      case Operation::AllGather:
        collectives.all_gather(shard, whole, order.wire, net::Purpose::Parameters);
        break;
      case Operation::ReduceScatter:
        collectives.reduce_scatter(whole, shard, order.wire, net::Purpose::Gradients);
        break;
      case Operation::AllReduce:
        collectives.all_reduce(whole, order.wire, net::Purpose::Gradients);
        break;
      case Operation::Broadcast:
        collectives.broadcast(std::as_writable_bytes(whole), 0, net::Purpose::Parameters);
        break;
    }
  }

  Seconds slowest(Seconds mine) {
    std::vector<double> all(static_cast<std::size_t>(ranks()));
    control_->all_gather_bytes(std::as_bytes(std::span(&mine.value, 1)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
    return {*std::ranges::max_element(all)};
  }

  net::World& world_;
  std::unique_ptr<Collectives> control_;
  std::vector<Implementation> implementations_;
  std::vector<float> whole_, shard_;
};

/// Bus bandwidth: what each rank must send at least, over the time.
void measure(benchmark::State& state, Bench& bench, Order order, BytesPerSecond copy_rate) {
  Seconds total{0};
  for ([[maybe_unused]] const auto _ : state) {
    const Seconds time = bench.carry_out(order);
    state.SetIterationTime(time.value);
    total += time;
  }
  const double passes = order.operation == Operation::AllReduce ? 2 : 1;
  const double least = passes * static_cast<double>(order.elements * size_of(order.wire).value) * (bench.ranks() - 1) / bench.ranks();
  const double rate = least * static_cast<double>(state.iterations()) / total.value;
  state.counters["bus_bytes_per_s"] = rate;
  state.counters["share_of_copy"] = rate / copy_rate.value;
}

void register_all(Bench& bench, BytesPerSecond copy_rate) {
  for (std::size_t i = 0; i < bench.implementations().size(); ++i) {
    for (const auto operation : {Operation::AllGather, Operation::ReduceScatter, Operation::AllReduce}) {
      const std::string& implementation = bench.implementations()[i].name;
      if (operation == Operation::AllGather && implementation == "pairwise") continue;  // gathers are rings
      for (const Dtype wire : {Dtype::Fp32, Dtype::Bf16}) {
        if (operation != Operation::AllGather && implementation == "ring" && wire == Dtype::Bf16) continue;  // pairwise is used
        for (const std::int64_t size : kSizes) {
          const std::int64_t elements = size / size_of(wire).value / bench.ranks() * bench.ranks();
          const Order order{static_cast<std::int32_t>(i), operation, wire, elements};
          const std::string name = std::string(kOperations[static_cast<std::size_t>(operation)]) + "/" + implementation + "/" +
                                   kWires[static_cast<std::size_t>(wire)] + "/" + to_text(Bytes{size});
          benchmark::RegisterBenchmark(name.c_str(),
                                       [&bench, order, copy_rate](benchmark::State& state) { measure(state, bench, order, copy_rate); })
              ->UseManualTime()
              ->Unit(benchmark::kMicrosecond);
        }
      }
    }
  }
}

int run_on_rank(net::World& world, const std::string& transport) {
  Bench bench(world);
  const BytesPerSecond copy_rate = bench.copy_rate();
  Order order;
  if (world.rank() == 0) {
    benchmark::AddCustomContext("ranks", std::to_string(world.size()));
    benchmark::AddCustomContext("transport", transport);
    benchmark::AddCustomContext("copy_bytes_per_s", std::to_string(copy_rate.value));
    register_all(bench, copy_rate);
    benchmark::RunSpecifiedBenchmarks();
    bench.carry_out(order);
  } else {
    do {
      bench.carry_out(order);
    } while (order.implementation >= 0);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string first = argc > 1 ? argv[1] : "2";
  net::WorldOptions options;
  options.transport = first == "mpi" ? "mpi" : "loopback";
  options.ranks = first == "mpi" ? 1 : std::atoi(first.c_str());
  options.argc = &argc;
  options.argv = &argv;
  return net::run_world(options, [&](net::World& world) { return run_on_rank(world, options.transport); });
}
