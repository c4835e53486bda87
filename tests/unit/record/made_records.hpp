#pragma once

#include <string>
#include <vector>

#include "twinax/record/run_record.hpp"

namespace twinax::test {

/// A head with every field set.
inline record::RecordHead full_head(std::int64_t ranks = 2) {
  record::RecordHead head;
  head.kind = "rehearse";
  head.name = "größe";
  head.command = "twinax train \"a b\"";
  head.config_toml = "[train]\nsteps = 3\n";
  head.created_utc = "2025-01-31T12:00:00Z";
  head.environment = {.hosts = "node1:0-1",
                      .ranks = ranks,
                      .ranks_per_node = 2,
                      .cpu = "a processor",
                      .cores = 4,
                      .mpi = "an MPI",
                      .ucx = "a UCX",
                      .hdf5 = "1.2.3",
                      .compiler = "a compiler",
                      .git_revision = "0123abc",
                      .transport = "mpi",
                      .network = "ethernet-25g",
                      .accelerator = "a100",
                      .dilation = 12.5,
                      .model_factor = 3.5,
                      .token_factor = 1.5};
  head.purposes = {"gather", "reduce", "control"};
  head.choices = "matmul 1 2 3 = cblas\n";
  head.stands_for = "2 nodes";
  head.parameters = 1234;
  head.flags = "oversubscribed";
  head.point = "\"net.profile\" = \"ethernet-25g\"\n";
  head.repeat = 3;
  head.warmup_steps = 1;
  return head;
}

/// A step of which only number, duration and loss are known.
inline record::StepRow step_row(std::int64_t step, double seconds = 1, double loss = 2) {
  record::StepRow row;
  row.step = step;
  row.seconds = seconds;
  row.loss = loss;
  return row;
}

/// Writes a record of the given steps' durations.
inline void write_record(const std::string& path, const std::vector<double>& seconds, bool is_closed = true) {
  record::RunRecord record(path, full_head(1), true);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    record.append_step(step_row(static_cast<std::int64_t>(i), seconds[i], 10 - static_cast<double>(i)), std::vector<record::RankRow>(1));
  }
  if (is_closed) record.close();
}

}  // namespace twinax::test
