#include <limits>

#include "twinax/base/config.hpp"

namespace twinax {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();  // no bound
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
using enum KeyType;

KeyDeclaration integer(std::string_view name, std::string_view value, double minimum, double maximum, std::string_view help) {
  return {name, Integer, value, minimum, maximum, {}, help};
}
KeyDeclaration real(std::string_view name, std::string_view value, double minimum, double maximum, std::string_view help) {
  return {name, Real, value, minimum, maximum, {}, help};
}
KeyDeclaration text(std::string_view name, std::string_view value, std::string_view help, std::vector<std::string_view> allowed = {}) {
  return {name, Text, value, 0, 0, std::move(allowed), help};
}
KeyDeclaration flag(std::string_view name, std::string_view value, std::string_view help) {
  return {name, Flag, value, 0, 0, {}, help};
}
KeyDeclaration quantity(KeyType type, std::string_view name, std::string_view value, double minimum, double maximum,
                        std::string_view help) {
  return {name, type, value, minimum, maximum, {}, help};
}

/// What is trained, and on what.
std::vector<KeyDeclaration> work_keys() {
  return {
      integer("train.steps", "200", 1, kAny, "optimizer steps"),
      integer("train.seed", "1", 0, kAny, "of initial weights and of the data's order"),
      integer("train.global_batch", "16", 1, 1e9, "sequences a step, over all ranks: the same run for any number of ranks"),
      integer("train.batch", "0", 0, 1e9, "sequences that a rank computes at once; 0 = its whole share of the step"),
      integer("train.evaluate_every", "0", 0, kAny, "steps between evaluations on the held-out text; 0 = never"),
      integer("train.evaluate_sequences", "64", 0, kAny, "held-out sequences an evaluation; 0 = all"),

      text("model.name", "", "a model of the catalog, whose shape is taken where the keys below are not set; empty = none"),
      text("model.catalog", "", "file of models; empty = experiments/catalog/models.toml"),
      text("model.kind", "gpt", "gpt: predicts each next token; t5: an encoder-decoder that fills in hidden spans", {"gpt", "t5"}),
      integer("model.layers", "4", 1, 1000, "transformer blocks; of a t5, of its encoder"),
      integer("model.decoder_layers", "0", 0, 1000, "blocks of a t5's decoder; 0 = as many as model.layers"),
      integer("model.width", "128", 1, 65536, "channels; a multiple of model.heads"),
      integer("model.heads", "4", 1, 1024, "attention heads"),
      integer("model.d_kv", "0", 0, 65536, "channels of each of a t5's heads; 0 = model.width / model.heads"),
      integer("model.d_ff", "0", 0, 1048576, "channels inside a t5's feed-forward; 0 = 2.5 x model.width"),
      integer("model.context", "256", 1, 1048576, "tokens a sequence; of a t5, that its encoder reads at most"),
      integer("model.vocabulary", "0", 0, 2147483647,
              "tokens known to the model; 0 = the tokenizer's number (of a t5, with sentinels and up to a multiple of 128)"),
      flag("model.tied", "true", "a gpt's head shares its weights with the token embedding; a t5's never does"),

      text("data.path", "", "text to train on: a file, or a folder of files"),
      text("data.tokenizer", "bytes",
           "bytes: each is a token; sentencepiece: the vocabulary that `twinax data prepare` trained on this text",
           {"bytes", "sentencepiece"}),
      real("data.held_out", "0.05", 0, 0.5, "share of the text, at its end, that is kept for evaluation"),
      real("data.noise_share", "0.15", 0.0001, 0.9999, "share of the tokens that is hidden from a t5's encoder"),
      real("data.mean_span", "3", 1, 1e6, "tokens of a hidden span, on average"),
      text("data.cache", "", "folder of prepared tokens; empty = the user's cache folder"),
  };
}

/// How it is trained.
std::vector<KeyDeclaration> training_keys() {
  return {
      text("fsdp.strategy", "full",
           "full: parameters, gradients and optimizer sharded; keep: the same, gathered once a step; hybrid: sharded inside nodes, "
           "replicated between them; replicate: all on every rank",
           {"full", "keep", "hybrid", "replicate"}),
      text(
          "fsdp.limiter", "window",
          "what bounds gathered units and gradients in flight: window: one more as one is released; block: the next when all are released; "
          "bytes: a window of bytes; pingpong: a window of buffers made once",
          {"none", "window", "block", "bytes", "pingpong"}),
      integer("fsdp.limit", "2", 1, 1e6, "units of a window, a block or ping-pong, for gathers and gradients each"),
      quantity(KeyType::Bytes, "fsdp.limit_bytes", "1GiB", 1, kAny, "memory of a limiter by bytes, for gathers and gradients each"),
      text("fsdp.limiter_side", "host", "who waits for the limiter: the host's issuing thread, or the lane while the host runs on",
           {"host", "lane"}),
      integer("fsdp.prefetch", "1", 0, 1e6, "units gathered ahead of the one that is computed"),
      text("fsdp.backward_prefetch", "pre",
           "the next backward's unit is gathered before (pre) or after (post) this one's gradients are reduced", {"pre", "post"}),
      text("fsdp.accumulate", "reduce",
           "over a step's micro-batches: reduce each one's gradients, or keep them whole and local and reduce them once",
           {"reduce", "local"}),
      flag("fsdp.checkpoint", "false", "blocks keep their input alone and run forward again before backward: less memory, more computing"),
      text("fsdp.wire", "fp32", "element type of gathers on the wire; int8: in blocks of 64 with a scale each", {"fp32", "bf16", "int8"}),
      text("fsdp.reduce_wire", "same",
           "element type of reductions on the wire, same = fsdp.wire; sums are fp32; int8 (with error feedback; in hybrid between nodes "
           "alone) holds 4 bytes more for each gradient that a rank sends",
           {"same", "fp32", "bf16", "int8"}),

      quantity(KeyType::Bytes, "memory.budget", "0B", 0, kAny,
               "memory that a rank's tensors may have from the system, cached blocks included; 0B = as much as there is"),

      real("optimizer.learning_rate", "0.001", 0, 1000, "AdamW's peak rate, after the warm-up"),
      real("optimizer.final_learning_rate_share", "0.1", 0, 1, "the cosine schedule ends at this share of the peak rate"),
      integer("optimizer.warmup_steps", "20", 0, kAny, "steps of linear warm-up"),
      real("optimizer.beta1", "0.9", 0, 0.999999, "decay of the first moment"),
      real("optimizer.beta2", "0.95", 0, 0.9999999, "decay of the second moment"),
      real("optimizer.epsilon", "1e-08", 1e-30, 1, "added to the root of the second moment"),
      real("optimizer.weight_decay", "0.1", 0, 1000, "of matrices and embeddings; biases and norms don't decay"),
      real("optimizer.clip_norm", "1", 0, 1e30, "the global gradient norm is clipped to this; 0 = never"),
  };
}

/// What that is run on, and what it leaves behind.
std::vector<KeyDeclaration> run_keys() {
  return {
      text("net.transport", "mpi",
           "mpi, ucx: ranks are processes under mpirun, whose bytes go by MPI or by UCX (shared memory, TCP; InfiniBand and RoCE have "
           "never been run); loopback: threads of one process",
           {"mpi", "ucx", "loopback"}),
      text("net.profile", "none", "network to emulate, a name of the catalog; none = as fast as the machine"),
      quantity(KeyType::Rate, "net.usable_rate", "0bit/s", 0, kAny,
               "what a node's NIC reaches of the profile's rate, in place of the share that the catalog says; 0 = the catalog's"),
      quantity(KeyType::Seconds, "net.message_overhead", "0s", 0, 3600,
               "time a NIC is busy for each message (of net.chunk at most) beyond its bytes, in place of the catalog's; 0 = the catalog's"),
      text("net.catalog", "", "file of network profiles; empty = experiments/catalog/networks.toml"),
      text("net.device", "",
           "network device that bytes between hosts must leave by (eth0; mlx5_0:1 of InfiniBand or RoCE, which have never been run), else "
           "a run warns; empty = any but loopback"),
      integer("net.ranks_per_node", "0", 0, 1e6, "ranks of an emulated node; 0 = 1 under a profile, else all ranks of a host"),
      quantity(KeyType::Bytes, "net.chunk", "256KiB", 1024, kGiB, "size of the pieces in which messages are shaped"),
      real("net.dilation", "0", 0, 1e9,
           "times slower than real that the network is emulated; 0 = measured with emulate.accelerator, else 1"),

      text("collective.implementation", "own", "own: the algorithms of this project over the transport; native: MPI's", {"own", "native"}),
      text("collective.algorithm", "auto",
           "of the own implementation; auto = direct inside a node, hierarchical over nodes, rings under a profile",
           {"auto", "ring", "pairwise", "exchange", "recursive", "direct", "hierarchical"}),
      text("collective.tune", "",
           "file of algorithms by size, as measured on this machine; they come before collective.algorithm; under \"hybrid\" for "
           "collectives of all ranks alone"),

      text(
          "emulate.cluster", "",
          "cluster of the catalog: its accelerator, accelerators a node, nodes and network are taken where they are not set; empty = none"),
      text("emulate.clusters", "", "file of clusters; empty = experiments/catalog/clusters.toml"),
      text("emulate.accelerator", "none", "accelerator that a rank stands for, a name of its catalog; sets the dilation"),
      integer("emulate.accelerators", "1", 1, 1e6, "accelerators that a rank stands for, which share its network"),
      integer("emulate.nodes", "0", 0, 1e6, "nodes of the cluster that is stood for: its bytes per FLOP are kept; 0 = as many as are run"),
      real("emulate.parameters", "0", 0, 1e15,
           "parameters of the model that is stood for: latencies shrink beside its larger layers; 0 = those of the model that is run"),
      text("emulate.model", "",
           "model of the catalog that is stood for, in place of emulate.parameters: its parameters and FLOPs are known; empty = none"),
      integer("emulate.sequences", "0", 0, 1e9,
              "sequences of emulate.model that each accelerator computes for a sequence of this run: the network is so much faster that "
              "its bytes per FLOP are kept; 0 = this run's own bytes per FLOP"),
      flag("emulate.memory", "false",
           "the memory budget stands for an accelerator's: what it has left beside its share of emulate.model's state, in proportion to "
           "parameters, and this run's state"),
      text("emulate.catalog", "", "file of accelerators; empty = experiments/catalog/accelerators.toml"),

      text("record.path", "", "HDF5 file to write the run's record to; empty = none"),
      quantity(KeyType::Seconds, "record.flush_seconds", "1s", 0, 86400,
               "time between flushes of the record, so that it can be read while it grows"),
      integer("record.timeline_steps", "1", 0, 1e6, "last steps whose timeline is kept"),

      real("watchdog.seconds", "60", 0.001, 1e9, "seconds that an operation may wait before all ranks report and the job ends"),
  };
}

}  // namespace

std::span<const KeyDeclaration> config_keys() {
  static const std::vector<KeyDeclaration> keys = [] {
    std::vector<KeyDeclaration> all = work_keys();
    for (const auto& more : {training_keys(), run_keys()}) all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return keys;
}

}  // namespace twinax
