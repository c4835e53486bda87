#include <iostream>
#include <string>

#include "twinax/base/config.hpp"
#include "twinax/base/units_text.hpp"

int main() {
  twinax::Config config;
  config.set("data.path=unused");
  const twinax::Seconds time = twinax::parse_bytes("512MiB") / twinax::parse_rate("25Gbit/s");
  std::cout << "512MiB over 25Gbit/s take " << twinax::for_people(time) << "\n";
}
