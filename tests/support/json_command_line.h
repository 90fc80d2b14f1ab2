// Commands whose answer is JSON, for tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/command_line.h"

namespace isthmus::test {

class JsonCommandLine : public CommandLine {
 protected:
  // What a command that succeeds and warns of nothing says.
  nlohmann::json json(const std::string& arguments) const {
    const Finished done = isthmus(arguments + " --json");
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.err, "");
    return nlohmann::json::parse(done.out, nullptr, false);
  }
  std::string outputs() const { return " -o " + (folder_ / "outputs").string(); }
};

}  // namespace isthmus::test
