// Joins: all names of cat are cat, and where takes scalars, masks and shapes that broadcast.
#include <gtest/gtest.h>

#include <cmath>

#include "support/spellings.h"

namespace isthmus::join_ops_test {
namespace {

using test::form_of;
using test::run;
using test::same_form;

TEST(JoinOps, NamesOfCat) {
  EXPECT_TRUE(
      same_form("%a : f32[2,3], %b : f32[2,1]", "f32[2,4]",
                {R"("aten.cat.default", tensors=[%a,%b], dim=1)", R"("aten.concat.default", tensors=[%a,%b], dim=-1)",
                 R"("aten.concatenate.default", tensors=[%a,%b], dim=1)", R"("aten.hstack.default", tensors=[%a,%b])",
                 R"("aten.column_stack.default", tensors=[%a,%b])"}));
  EXPECT_TRUE(same_form("%a : f32[2,3], %b : f32[2,3]", "f32[4,3]",
                        {R"("aten.cat.default", tensors=[%a,%b])", R"("aten.vstack.default", tensors=[%a,%b])",
                         R"("aten.row_stack.default", tensors=[%a,%b])"}));
  EXPECT_TRUE(
      same_form("%a : f32[3], %b : f32[3]", "f32[2,3]",
                {R"("aten.stack.default", tensors=[%a,%b])", R"("aten.stack.default", tensors=[%a,%b], dim=-2)"}));
  EXPECT_TRUE(same_form(
      "%a : f32[3], %b : f32[3]", "f32[3,2]",
      {R"("aten.stack.default", tensors=[%a,%b], dim=1)", R"("aten.column_stack.default", tensors=[%a,%b])"}));
  EXPECT_TRUE(same_form("%a : f32[3], %b : f32[3]", "f32[1,3,2]", {R"("aten.dstack.default", tensors=[%a,%b])"}));
}

TEST(JoinOps, CatDropsLegacyEmptiesAndPromotes) {
  EXPECT_EQ(form_of("%a : f32[2,3], %b : f32[0]", "f32[2,3]", R"("aten.cat.default", tensors=[%b,%a], dim=1)"),
            "return %0\n");
  EXPECT_EQ(run("%a : i64[2], %b : f32[1]", "f32[3]", R"("aten.cat.default", tensors=[%a,%b])", {{1, 2}, {0.5}}),
            (std::vector<double>{1, 2, 0.5}));
  EXPECT_EQ(run("%a : f32[0,2], %b : f32[1,2]", "f32[1,2]", R"("aten.cat.default", tensors=[%a,%b])", {{}, {3, 4}}),
            (std::vector<double>{3, 4}));
  EXPECT_EQ(run("%a : f32[], %b : f32[]", "f32[2]", R"("aten.hstack.default", tensors=[%a,%b])", {{1}, {2}}),
            (std::vector<double>{1, 2}));
  EXPECT_EQ(
      run("%a : f32[2], %b : f32[1]", "f32[2,2]",
          R"("aten.pad_sequence.default", sequences=[%a,%b], batch_first=true, padding_value=9.0)", {{1, 2}, {3}}),
      (std::vector<double>{1, 2, 3, 9}));
}

TEST(JoinOps, CatOfSymbolicSizes) {
  EXPECT_EQ(form_of("symbol s0 in [1,8] ~3\n  input %a : f32[s0,2]\n  input %b : f32[1,2]", "f32[s0+1,2]",
                    R"("aten.cat.default", tensors=[%a,%b])"),
            "%2 = cat(%0, %1) : f32[s0+1,2]\nreturn %2\n");
}

TEST(JoinOps, NamesOfWhere) {
  EXPECT_TRUE(same_form("%m : bool[2], %x : f32[2]", "f32[2]",
                        {R"("aten.masked_fill.Scalar", self=%x, mask=%m, value=0.5)",
                         R"("aten.where.ScalarSelf", condition=%m, self=0.5, other=%x)"}));
  EXPECT_EQ(run("%m : bool[2,1], %x : f32[3], %z : f32[]", "f32[2,3]",
                R"("aten.where.self", condition=%m, self=%x, other=%z)", {{1, 0}, {1, 2, 3}, {9}}),
            (std::vector<double>{1, 2, 3, 9, 9, 9}));
  EXPECT_EQ(run("%m : bool[2]", "i64[2]", R"("aten.where.Scalar", condition=%m, self=1, other=-1)", {{1, 0}}),
            (std::vector<double>{1, -1}));
  const double minus_infinity = run("%m : bool[1], %x : f32[1]", "f32[1]",
                                    R"("aten.masked_fill.Scalar", self=%x, mask=%m, value=-inf)", {{1}, {1}})[0];
  EXPECT_TRUE(std::isinf(minus_infinity));
}

TEST(JoinOps, HostileArgumentsAreRefused) {
  const std::string inputs = "%a : f32[2,3], %b : f32[3,2], %m : bool[5]";
  for (const char* call : {
           R"("aten.cat.default", tensors=[%a,%b])",
           R"("aten.cat.default", tensors=[%a,%a], dim=2)",
           R"("aten.cat.default", tensors=[])",
           R"("aten.stack.default", tensors=[%a,%b])",
           R"("aten.stack.default", tensors=[])",
           R"("aten.hstack.default", tensors=[])",
           R"("aten.where.self", condition=%m, self=%a, other=%a)",
           R"("aten.where.default", condition=%m)",
           R"("aten.masked_fill.Scalar", self=%a, mask=%m, value=0.0)",
       }) {
    EXPECT_TRUE(test::is_refused(inputs, "f32[2,3]", call)) << call;
  }
}

}  // namespace
}  // namespace isthmus::join_ops_test
