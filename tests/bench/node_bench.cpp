// Direct collectives of one node's ranks against the MPI library's best, and against memcpy of what a rank receives:
// mpirun -n 2 node_bench [rounds] [--strict]. Everything is run in rotation; a ratio is of medians over rounds, beside it the least and the
// largest of a round. Times are of the slowest rank. Blocks that MPI allocates are kept by malloc, which is to its advantage. With --strict
// the exit code is 1 if a goal is missed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <mpi.h>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/net/mpi_comm.hpp"
#include "twinax/net/mpi_env.hpp"

namespace {

using namespace twinax;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kLargest = 64 * kMiB;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// What must be true: at least how many times as fast as MPI's best, and at most how many times as long as memcpy; 0: nothing.
struct Goal {
  double over_mpi = 0;
  double over_copy = 0;
};

constexpr Goal kReduceScatter{.over_mpi = 2};
constexpr Goal kAllGather{.over_mpi = 1, .over_copy = 2};

/// Of a small all-reduce, whose waits cost more where ranks outnumber cores.
Goal small_all_reduce(int ranks) {
  return {.over_mpi = ranks <= 2 ? 1 : 0.7};
}

/// One way to do something.
struct Contender {
  std::string name;
  std::function<void()> call;
  std::vector<double> seconds{};  // by round
};

class Bench {
 public:
  Bench(net::World& world, int rounds)
      : world_(world),
        comm_(world.mpi_comm()->get()),
        rounds_(rounds),
        group_(collective::Group::first(world.size(), world.rank())),
        node_(world.share(collective::NodeMemory::size(world.size(), kHeap)), world.size(), world.rank(), kHeap),
        direct_(make_own(world.transport(), group_, {.algorithm = "direct", .node = &node_, .wait = world.wait_context()})),
        ours_(buffer_in(kLargest)),
        theirs_(kLargest / sizeof(float), 1.0F),
        shard_(kLargest / sizeof(float), 1.0F) {
    std::ranges::fill(ours_, 1.0F);
  }

  /// The goals that were missed, in words; on rank 0.
  std::vector<std::string> run() {
    if (world_.rank() == 0) fmt::print("{} ranks, {} rounds in rotation, {}\n", world_.size(), rounds_, world_.mpi_version());
    for (const std::size_t bytes : {4 * kMiB, 16 * kMiB, 64 * kMiB}) reduce_scatter(bytes);
    for (const std::size_t bytes : {4 * kMiB, 16 * kMiB, 64 * kMiB}) all_gather(bytes);
    all_reduce(1024, small_all_reduce(world_.size()));
    for (const std::size_t bytes : {4 * kMiB, 64 * kMiB}) all_reduce(bytes, {});
    return missed_;
  }

 private:
  static constexpr Bytes kHeap{80 << 20};

  std::span<float> buffer_in(std::size_t bytes) { return {static_cast<float*>(node_.allocate(bytes, 64)), bytes / sizeof(float)}; }

  void reduce_scatter(std::size_t bytes) {
    const std::size_t n = bytes / sizeof(float) / static_cast<std::size_t>(world_.size());
    const int piece = static_cast<int>(n);
    const std::vector<int> pieces(static_cast<std::size_t>(world_.size()), piece);
    const std::span<float> whole = ours_.first(n * static_cast<std::size_t>(world_.size()));
    const std::span<float> shard = std::span(shard_).first(n);
    std::vector<Contender> contenders{
        {"direct", [&] { direct_->reduce_scatter(whole, shard, Dtype::Fp32, net::Purpose::Gradients); }},
        {"MPI_Reduce_scatter", [&] { check(MPI_Reduce_scatter(theirs_.data(), shard_.data(), pieces.data(), MPI_FLOAT, MPI_SUM, comm_)); }},
        {"MPI_Reduce_scatter_block",
         [&] { check(MPI_Reduce_scatter_block(theirs_.data(), shard_.data(), piece, MPI_FLOAT, MPI_SUM, comm_)); }},
        {"MPI_Allreduce",
         [&] { check(MPI_Allreduce(theirs_.data(), shard_.data(), static_cast<int>(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, comm_)); }}};
    compare("reduce_scatter", bytes, contenders, 0, kReduceScatter);
  }

  void all_gather(std::size_t bytes) {
    const std::size_t n = bytes / sizeof(float) / static_cast<std::size_t>(world_.size());
    const std::span<float> whole = ours_.first(n * static_cast<std::size_t>(world_.size()));
    const std::span<float> own = whole.subspan(static_cast<std::size_t>(world_.rank()) * n, n);
    const std::size_t received = bytes - n * sizeof(float);
    std::vector<Contender> contenders{
        {"direct", [&] { direct_->all_gather(own, whole, Dtype::Fp32, net::Purpose::Parameters); }},
        {"MPI_Allgather",
         [&] { check(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs_.data(), static_cast<int>(n), MPI_FLOAT, comm_)); }},
        {"memcpy", [&] { std::memcpy(shard_.data(), theirs_.data(), received); }}};
    compare("all_gather", bytes, contenders, 1, kAllGather);
  }

  void all_reduce(std::size_t bytes, const Goal& goal) {
    const std::span<float> values = ours_.first(bytes / sizeof(float));
    std::vector<Contender> contenders{
        {"direct",
         [&] {
           direct_->all_reduce(values, Dtype::Fp32, net::Purpose::Gradients);
           values[0] = 1.0F;
         }},
        {"MPI_Allreduce",
         [&] { check(MPI_Allreduce(MPI_IN_PLACE, theirs_.data(), static_cast<int>(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, comm_)); }}};
    std::ranges::fill(theirs_, 0.0F);
    std::ranges::fill(ours_, 0.0F);
    compare("all_reduce", bytes, contenders, 0, goal);
  }

  static void check(int code) { net::check_mpi(code, "a collective of the MPI library"); }

  /// Calls long enough for the clock, between barriers; the mean of the slowest rank.
  double time_of(const std::function<void()>& call, int calls) {
    direct_->barrier();
    const Seconds begin = world_.clock().now();
    for (int i = 0; i < calls; ++i) call();
    const double mine = (world_.clock().now() - begin).value / calls;
    std::vector<double> all(static_cast<std::size_t>(world_.size()));
    direct_->all_gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
    return *std::ranges::max_element(all);
  }

  /// The last `copies` contenders are no peers but what the bytes alone cost.
  void compare(const std::string& operation, std::size_t bytes, std::vector<Contender>& contenders, std::size_t copies, const Goal& goal) {
    const int calls = bytes <= 4096 ? 2000 : static_cast<int>(std::clamp<std::size_t>(32 * kMiB / bytes, 2, 20));
    for (int round = -1; round < rounds_; ++round) {  // the first warms up
      for (std::size_t i = 0; i < contenders.size(); ++i) {
        Contender& contender = contenders[(i + static_cast<std::size_t>(round + 1)) % contenders.size()];
        const double seconds = time_of(contender.call, calls);
        if (round >= 0) contender.seconds.push_back(seconds);
      }
    }
    if (world_.rank() != 0) return;
    const std::size_t peers_end = contenders.size() - copies;
    const auto best = std::min_element(contenders.begin() + 1, contenders.begin() + static_cast<std::ptrdiff_t>(peers_end),
                                       [](const auto& a, const auto& b) { return median(a.seconds) < median(b.seconds); });
    const std::string size = to_text(Bytes{static_cast<std::int64_t>(bytes)});
    fmt::print("{:<15}{:>7}  direct {:>10}  {} {:>10}  ratio {}\n", operation, size, for_people(Seconds{median(contenders[0].seconds)}),
               best->name, for_people(Seconds{median(best->seconds)}), ratio(best->seconds, contenders[0].seconds));
    if (goal.over_mpi > 0) {
      judge(operation, size, best->name, median(best->seconds) / median(contenders[0].seconds) / goal.over_mpi);
    }
    for (std::size_t i = peers_end; i < contenders.size(); ++i) {
      fmt::print("{:<15}{:>7}  direct over {} {:>10}  ratio {}\n", operation, size, contenders[i].name,
                 for_people(Seconds{median(contenders[i].seconds)}), ratio(contenders[0].seconds, contenders[i].seconds));
      judge(operation, size, contenders[i].name, goal.over_copy * median(contenders[i].seconds) / median(contenders[0].seconds));
    }
  }

  /// `of_goal`: the share of the goal that was reached.
  void judge(std::string_view operation, std::string_view size, std::string_view peer, double of_goal) {
    if (of_goal < 1) missed_.push_back(fmt::format("{} of {} against {}: {:.0f}% of the goal", operation, size, peer, 100 * of_goal));
  }

  static std::string ratio(const std::vector<double>& above, const std::vector<double>& below) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < above.size(); ++r) ratios.push_back(above[r] / below[r]);
    const auto [least, most] = std::ranges::minmax(ratios);
    return fmt::format("{:.2f} [{:.2f} {:.2f}]", median(above) / median(below), least, most);
  }

  net::World& world_;
  MPI_Comm comm_;
  int rounds_;
  collective::Group group_;
  collective::NodeMemory node_;
  std::unique_ptr<collective::OwnCollectives> direct_;
  std::span<float> ours_;
  std::vector<float> theirs_, shard_;
  std::vector<std::string> missed_;
};

struct Options {
  int rounds = 7;
  bool is_strict = false;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--strict") {
      options.is_strict = true;
    } else {
      options.rounds = std::max(std::atoi(argv[i]), 1);
    }
  }
  return options;
}

int bench(net::World& world, const Options& options) {
  const std::vector<std::string> missed = Bench(world, options.rounds).run();
  if (!options.is_strict) return EXIT_SUCCESS;
  for (const std::string& goal : missed) fmt::print(stderr, "missed: {}\n", goal);
  return missed.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, 64 << 20);
  const Options given = read_options(argc, argv);
  net::WorldOptions options;
  options.argc = &argc;
  options.argv = &argv;
  return net::run_world(options, [&given](net::World& world) { return bench(world, given); });
}
