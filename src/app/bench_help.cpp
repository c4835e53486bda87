#include "app/bench_help.hpp"

#include "app/commands.hpp"

namespace twinax::app {
namespace {

// What the commands printed on two ranks of one machine with two cores.
constexpr const char* kNetTable =
    "mpirun -n 2 --bind-to none twinax bench net --test bandwidth --sizes 64KiB,1MiB --net ethernet-25g --set net.dilation=10\n"
    "# bandwidth: rank 0 to rank 1\n"
    " size [B] window      MB/s       low      high   Gbit/s  messages/s #wrong % bound\n"
    "    65536     64      2559      2552      2566     20.5       39046      0    87.1\n"
    "  1048576     64      2863      2862      2863     22.9        2730      0    97.5\n";
constexpr const char* kCollectiveTable =
    "mpirun -n 2 --bind-to none twinax bench collective --collective reduce_scatter --sizes 1KiB,4MiB\n"
    "collective     algorithm       size [B]      count type   time [us]       low      high algbw [GB/s] busbw [GB/s] #wrong % bound\n"
    "reduce_scatter ring             4194304    1048576 fp32        1550      1449      1657         2.71         1.35      0    2.85\n"
    "reduce_scatter direct           4194304    1048576 fp32         436       391       491         9.61         4.81      0    13.4\n"
    "reduce_scatter native           4194304    1048576 fp32        1902      1789      1983         2.21         1.10      0    3.19\n";

}  // namespace

std::string bench_help() {
  return std::string("Examples, of whose output a part is shown:\n") + kNetTable + "\n" + kCollectiveTable +
         "\nWithout mpirun: twinax bench collective --set net.transport=loopback --ranks 4\n";
}

std::string bench_net_help() {
  return "Tests:\n"
         "  latency        one message there and one back: half of a round trip\n"
         "  bandwidth      a window of messages one way, then an answer\n"
         "  bidirectional  the same both ways at once; rates are the sum\n"
         "  incast         a window of messages from every other rank to rank 0\n"
         "  all-pairs      each pair's latency (at the smallest size) and rate (at the largest); disjoint pairs at once\n"
         "\nColumns (from iterations on in CSV only):\n" +
         bench_net_columns_help() + "\nAn example, of whose output a part is shown:\n" + kNetTable +
         "\nMore: mpirun -n 2 --bind-to none twinax bench net --test latency,bandwidth\n"
         "      mpirun -n 4 --bind-to none twinax bench net --test incast --net ethernet-10g --csv\n";
}

std::string bench_collective_help() {
  return "Columns (from iterations on in CSV only):\n" + bench_collective_columns_help() +
         "\nAn example, of whose output a part is shown:\n" + kCollectiveTable +
         "\nMore: mpirun -n 2 --bind-to none twinax bench collective --collective all_reduce\n"
         "      twinax bench collective --set net.transport=loopback --ranks 4 --net ethernet-25g --set net.dilation=10\n";
}

}  // namespace twinax::app
