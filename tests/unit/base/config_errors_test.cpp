// Every kind of bad value, with the whole message.
#include <string>

#include "twinax/base/config.hpp"
#include "twinax/base/error.hpp"

#include "gtest/gtest.h"

namespace twinax {
namespace {

struct Case {
  const char* name;
  const char* input;
  const char* message;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.input;
}

class ConfigFileError : public ::testing::TestWithParam<Case> {};
class ConfigSetError : public ::testing::TestWithParam<Case> {};

TEST_P(ConfigFileError, SaysWhereWhatAndWhatIsAllowed) {
  try {
    Config().apply(parse_toml(GetParam().input, "x.toml"));
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

TEST_P(ConfigSetError, SaysWhatAndWhatIsAllowed) {
  try {
    Config().set(GetParam().input);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

#define TWINAX_VOLUMES "; units are B KiB MiB GiB TiB KB MB GB TB, e.g. \"512MiB\""

const Case kFileCases[] = {
    {"UnknownKey", "[train]\n\nstepz = 100\n",
     "x.toml:3: train.stepz = 100: unknown key; did you mean train.steps? (twinax config lists all)"},
    {"UnknownTable", "[trian]\nsteps = 100\n",
     "x.toml:2: trian.steps = 100: unknown key; did you mean train.steps? (twinax config lists all)"},
    {"WrongTable", "[train]\nlearning_rate = 1\n",
     "x.toml:2: train.learning_rate = 1: unknown key; did you mean optimizer.learning_rate? (twinax config lists all)"},
    {"NoTable", "steps = 100\n", "x.toml:1: steps = 100: unknown key; did you mean train.steps? (twinax config lists all)"},
    {"FarFromAllOfItsTable", "[watchdog]\nlr = 100\n",
     "x.toml:2: watchdog.lr = 100: unknown key; did you mean watchdog.seconds? [watchdog] holds seconds (twinax config lists all)"},
    {"ValueForATable", "watchdog = 3\n", "x.toml:1: watchdog = 3: watchdog is a table, not a key; [watchdog] holds seconds"},
    {"TableForAValue", "[train.steps]\nmany = true\n",
     "x.toml:2: train.steps.many = true: unknown key; did you mean train.steps? (twinax config lists all)"},
    {"TextForAnInteger", "[train]\nsteps = \"5\"\n",
     "x.toml:2: train.steps = \"5\": expected a whole number (at least 1), e.g. train.steps = 200"},
    {"FractionForAnInteger", "[train]\nsteps = 1.5\n",
     "x.toml:2: train.steps = 1.5: expected a whole number (at least 1), e.g. train.steps = 200"},
    {"NotANumberForAnInteger", "[train]\nsteps = nan\n",
     "x.toml:2: train.steps = nan: expected a whole number (at least 1), e.g. train.steps = 200"},
    {"FlagForAnInteger", "[train]\nsteps = true\n",
     "x.toml:2: train.steps = true: expected a whole number (at least 1), e.g. train.steps = 200"},
    {"IntegerTooSmall", "[train]\nsteps = 0\n",
     "x.toml:2: train.steps = 0: out of range; expected a whole number (at least 1), e.g. train.steps = 200"},
    {"IntegerTooLarge", "[model]\nlayers = 1001\n",
     "x.toml:2: model.layers = 1001: out of range; expected a whole number (1 to 1000), e.g. model.layers = 4"},
    {"RealOutOfRange", "[data]\nheld_out = 0.6\n",
     "x.toml:2: data.held_out = 0.6: out of range; expected a number (0 to 0.5), e.g. data.held_out = 0.05"},
    {"RealNotFinite", "[optimizer]\nclip_norm = inf\n",
     "x.toml:2: optimizer.clip_norm = inf: out of range; expected a number (0 to 1e+30), e.g. optimizer.clip_norm = 1"},
    {"RealNotANumber", "[optimizer]\nbeta1 = nan\n",
     "x.toml:2: optimizer.beta1 = nan: out of range; expected a number (0 to 0.999999), e.g. optimizer.beta1 = 0.9"},
    {"TextForAReal", "[optimizer]\nbeta1 = \"high\"\n",
     "x.toml:2: optimizer.beta1 = \"high\": expected a number (0 to 0.999999), e.g. optimizer.beta1 = 0.9"},
    {"NumberForAText", "[data]\npath = 7\n", "x.toml:2: data.path = 7: expected a text in quotes, e.g. data.path = \"some/path\""},
    {"ListForAText", "[data]\npath = [\"a\", \"b\"]\n",
     "x.toml:2: data.path = [\"a\", \"b\"]: a list is not one value; expected a text in quotes, e.g. data.path = \"some/path\""},
    {"NotOneOfTheChoices", "[fsdp]\nlimiter = \"windows\"\n",
     "x.toml:2: fsdp.limiter = \"windows\": expected one of none, window, block, bytes, pingpong, e.g. fsdp.limiter = \"window\""},
    {"ZeroByteInAText", "[data]\npath = \"a\\u0000b\"\n", "x.toml:2: data.path = \"a\\u0000b\": a text must be UTF-8 without zero bytes"},
    {"NumberForAFlag", "[model]\ntied = 1\n", "x.toml:2: model.tied = 1: expected true or false, e.g. model.tied = true"},
    {"BareNumberForAQuantity", "[net]\nchunk = 262144\n",
     "x.toml:2: net.chunk = 262144: a bare number has no unit; expected a volume of data with its unit (1KiB to 1GiB), e.g. net.chunk = "
     "\"256KiB\""},
    {"UnknownUnit", "[net]\nchunk = \"256kb\"\n",
     "x.toml:2: net.chunk = \"256kb\": \"256kb\" is no volume of data: the unit \"kb\" is unknown" TWINAX_VOLUMES
     "; expected a volume of data with its unit (1KiB to 1GiB), e.g. net.chunk = \"256KiB\""},
    {"QuantityOutOfRange", "[net]\nchunk = \"2GiB\"\n",
     "x.toml:2: net.chunk = \"2GiB\": out of range; expected a volume of data with its unit (1KiB to 1GiB), e.g. net.chunk = \"256KiB\""},
    {"SecondsOfZero", "[watchdog]\nseconds = 0\n",
     "x.toml:2: watchdog.seconds = 0: out of range; expected a number (0.001 to 1000000000), e.g. watchdog.seconds = 60"},
};
INSTANTIATE_TEST_SUITE_P(Toml, ConfigFileError, ::testing::ValuesIn(kFileCases), name_of_case);

const Case kSetCases[] = {
    {"NoEqualsSign", "train.steps", "--set train.steps: expected key=value, e.g. --set train.steps=200 (twinax config lists the keys)"},
    {"UnknownKey", "train.stepz=100", "--set: train.stepz = 100: unknown key; did you mean train.steps? (twinax config lists all)"},
    {"EmptyKey", "=100", "--set:  = 100: a key is missing before the equals sign, e.g. train.steps=200 (twinax config lists all)"},
    {"EmptyNumber", "train.steps=", "--set: train.steps = : expected a whole number (at least 1), e.g. train.steps=200"},
    {"WordForAnInteger", "train.steps=many", "--set: train.steps = many: expected a whole number (at least 1), e.g. train.steps=200"},
    {"TrailingLetters", "train.steps=5x", "--set: train.steps = 5x: expected a whole number (at least 1), e.g. train.steps=200"},
    {"CommaInANumber", "optimizer.beta1=0,9", "--set: optimizer.beta1 = 0,9: expected a number (0 to 0.999999), e.g. optimizer.beta1=0.9"},
    {"IntegerBeyond64Bits", "train.seed=9223372036854775808",
     "--set: train.seed = 9223372036854775808: expected a whole number (at least 0), e.g. train.seed=1"},
    {"NegativeBatch", "train.batch=-1",
     "--set: train.batch = -1: out of range; expected a whole number (0 to 1000000000), e.g. train.batch=0"},
    {"NotANumber", "optimizer.beta1=nan",
     "--set: optimizer.beta1 = nan: out of range; expected a number (0 to 0.999999), e.g. optimizer.beta1=0.9"},
    {"NotAFlag", "model.tied=yes", "--set: model.tied = yes: expected true or false, e.g. model.tied=true"},
    {"NotOneOfTheChoices", "fsdp.strategy=FULL",
     "--set: fsdp.strategy = FULL: expected one of full, keep, hybrid, replicate, e.g. fsdp.strategy=full"},
    {"BareQuantity", "net.chunk=1024",
     "--set: net.chunk = 1024: \"1024\" is no volume of data: a bare number has no unit" TWINAX_VOLUMES
     "; expected a volume of data with its unit (1KiB to 1GiB), e.g. net.chunk=256KiB"},
    {"NotUtf8", "data.path=\xff", "--set: data.path = \xff: a text must be UTF-8 without zero bytes"},
};
INSTANTIATE_TEST_SUITE_P(Set, ConfigSetError, ::testing::ValuesIn(kSetCases), name_of_case);

TEST(ConfigSetFrom, NamesTheSource) {
  try {
    Config().set("fsdp.wire", "fp16", "the axis fsdp.wire of demo.toml");
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "the axis fsdp.wire of demo.toml: fsdp.wire = fp16: expected one of fp32, bf16, int8, e.g. fsdp.wire=fp32");
  }
}

}  // namespace
}  // namespace twinax
