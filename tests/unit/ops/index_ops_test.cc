// Picking and placing by index: known positions become slices, negative ones count from the end, bad ones are errors.
#include <gtest/gtest.h>

#include "support/spellings.h"

namespace isthmus::index_ops_test {
namespace {

using test::form_of;
using test::run;
using test::same_form;

const std::vector<double> kSix = {1, 2, 3, 4, 5, 6};

TEST(IndexOps, NamesOfIndexSelect) {
  EXPECT_TRUE(same_form(
      "%x : f32[4,3], %i : i64[2]", "f32[2,3]",
      {R"("aten.index_select.default", self=%x, dim=0, index=%i)", R"("aten.embedding.default", weight=%x, indices=%i)",
       R"("aten.index.Tensor", self=%x, indices=[%i])"}));
  EXPECT_EQ(form_of("const %i : i64[2] = [0,-1]\n  input %x : f32[2,3]", "f32[2,2]",
                    R"("aten.index.Tensor", self=%x, indices=[none,%i])"),
            "%1 = slice(%0) axis=1 end=3 step=2 : f32[2,2]\nreturn %1\n");
  EXPECT_EQ(run("%x : f32[2,3], %i : i64[1,2]", "f32[2,1,2]", R"("aten.index.Tensor", self=%x, indices=[none,%i])",
                {kSix, {-1, 0}}),
            (std::vector<double>{3, 1, 6, 4}));
  EXPECT_EQ(run("%x : f32[2,3], %i : i32[2,2]", "f32[2,2]", R"("aten.take.default", self=%x, index=%i)",
                {kSix, {5, 0, -2, 1}}),
            (std::vector<double>{6, 1, 5, 2}));
}

TEST(IndexOps, SeveralIndices) {
  // Side by side, apart, and each along an axis of its own.
  EXPECT_EQ(run("%x : f32[2,3], %i : i64[3], %j : i64[3]", "f32[3]", R"("aten.index.Tensor", self=%x, indices=[%i,%j])",
                {kSix, {0, 1, -1}, {2, 0, -1}}),
            (std::vector<double>{3, 4, 6}));
  EXPECT_EQ(run("const %i : i64[2] = [0,-1]\n  const %j : i64[2] = [2,0]\n  input %x : f32[2,3]", "f32[2]",
                R"("aten.index.Tensor", self=%x, indices=[%i,%j])", {kSix}),
            (std::vector<double>{3, 4}));
  EXPECT_EQ(run("%x : f32[2,1,3], %i : i64[2], %j : i64[2]", "f32[2,1]",
                R"("aten.index.Tensor", self=%x, indices=[%i,none,%j])", {kSix, {0, 1}, {1, 2}}),
            (std::vector<double>{2, 6}));
  EXPECT_EQ(run("%x : f32[2,3], %i : i64[2,1], %j : i64[2]", "f32[2,2]",
                R"("aten.index.Tensor", self=%x, indices=[%i,%j])", {kSix, {1, 0}, {2, 0}}),
            (std::vector<double>{6, 4, 3, 1}));
  EXPECT_EQ(run("const %m : bool[2,3] = [true,false,true,false,false,true]\n  input %x : f32[2,3]", "f32[3]",
                R"("aten.index.Tensor", self=%x, indices=[%m])", {kSix}),
            (std::vector<double>{1, 3, 6}));
}

TEST(IndexOps, GatherAndTakeAlong) {
  EXPECT_EQ(run("%x : f32[2,3], %i : i64[2,2]", "f32[2,2]", R"("aten.gather.default", self=%x, dim=1, index=%i)",
                {kSix, {2, 0, 1, 1}}),
            (std::vector<double>{3, 1, 5, 5}));
  EXPECT_EQ(run("%x : f32[2,3], %i : i64[1,3]", "f32[1,3]", R"("aten.gather.default", self=%x, dim=0, index=%i)",
                {kSix, {1, 0, 1}}),
            (std::vector<double>{4, 2, 6}));
  EXPECT_EQ(run("%x : f32[], %i : i64[]", "f32[]", R"("aten.gather.default", self=%x, dim=0, index=%i)", {{7}, {0}}),
            (std::vector<double>{7}));
  EXPECT_EQ(run("%x : f32[2,3], %i : i64[1,1]", "f32[2,1]",
                R"("aten.take_along_dim.default", self=%x, indices=%i, dim=1)", {kSix, {1}}),
            (std::vector<double>{2, 5}));
}

TEST(IndexOps, Scatter) {
  const std::string inputs = "%x : f32[2,3], %i : i64[2,1], %s : f32[2,2]";
  const auto put = [&](const std::string& call) {
    return run(inputs, "f32[2,3]", call, {kSix, {1, 2}, {10, 0, 20, 0}});
  };
  EXPECT_EQ(put(R"("aten.scatter.src", self=%x, dim=1, index=%i, src=%s)"), (std::vector<double>{1, 10, 3, 4, 5, 20}));
  EXPECT_EQ(put(R"("aten.scatter.value", self=%x, dim=1, index=%i, value=-1)"),
            (std::vector<double>{1, -1, 3, 4, 5, -1}));
  EXPECT_EQ(put(R"("aten.scatter_add.default", self=%x, dim=1, index=%i, src=%s)"),
            (std::vector<double>{1, 12, 3, 4, 5, 26}));
  EXPECT_EQ(put(R"("aten.scatter_reduce.two", self=%x, dim=1, index=%i, src=%s, reduce="prod", include_self=false)"),
            (std::vector<double>{1, 10, 3, 4, 5, 20}));
  EXPECT_EQ(put(R"("aten.scatter_reduce.two", self=%x, dim=1, index=%i, src=%s, reduce="mean")"),
            (std::vector<double>{1, 6, 3, 4, 5, 13}));
  EXPECT_EQ(put(R"("aten.scatter_reduce.two", self=%x, dim=1, index=%i, src=%s, reduce="amin")"), kSix);
}

TEST(IndexOps, WholePositions) {
  const std::string inputs = "%x : f32[2,3], %i : i64[2], %s : f32[2,2]";
  const auto put = [&](const std::string& call) {
    return run(inputs, "f32[2,3]", call, {kSix, {0, 2}, {10, 20, 30, 40}});
  };
  EXPECT_EQ(put(R"("aten.index_add.default", self=%x, dim=1, index=%i, source=%s, alpha=2)"),
            (std::vector<double>{21, 2, 43, 64, 5, 86}));
  EXPECT_EQ(put(R"("aten.index_copy.default", self=%x, dim=1, index=%i, source=%s)"),
            (std::vector<double>{10, 2, 20, 30, 5, 40}));
  EXPECT_EQ(put(R"("aten.index_fill.int_Scalar", self=%x, dim=1, index=%i, value=0.0)"),
            (std::vector<double>{0, 2, 0, 0, 5, 0}));
  EXPECT_EQ(put(R"("aten.index_put.default", self=%x, indices=[none,%i], values=%s)"),
            (std::vector<double>{10, 2, 20, 30, 5, 40}));
}

TEST(IndexOps, PartsReplaced) {
  EXPECT_EQ(run("%x : f32[2,3], %s : f32[2,1]", "f32[2,3]",
                R"("aten.slice_scatter.default", self=%x, src=%s, dim=1, start=1, end=2)", {kSix, {8, 9}}),
            (std::vector<double>{1, 8, 3, 4, 9, 6}));
  EXPECT_EQ(run("%x : f32[2,3], %s : f32[2,2]", "f32[2,3]",
                R"("aten.slice_scatter.default", self=%x, src=%s, dim=1, step=2)", {kSix, {7, 8, 9, 0}}),
            (std::vector<double>{7, 2, 8, 9, 5, 0}));
  EXPECT_EQ(run("%x : f32[2,3], %s : f32[2]", "f32[2,3]",
                R"("aten.select_scatter.default", self=%x, src=%s, dim=1, index=-1)", {kSix, {8, 9}}),
            (std::vector<double>{1, 2, 8, 4, 5, 9}));
  EXPECT_EQ(run("%x : f32[2,3], %s : f32[2]", "f32[2,3]",
                R"("aten.diagonal_scatter.default", self=%x, src=%s, offset=1)", {kSix, {8, 9}}),
            (std::vector<double>{1, 8, 3, 4, 5, 9}));
  EXPECT_EQ(run("%x : f32[3], %m : bool[3], %s : f32[3]", "f32[3]",
                R"("aten.masked_scatter.default", self=%x, mask=%m, source=%s)", {{1, 2, 3}, {1, 0, 1}, {7, 8, 9}}),
            (std::vector<double>{7, 2, 8}));
  EXPECT_EQ(run("%x : f32[2,3], %m : bool[2], %v : f32[]", "f32[2,3]",
                R"("aten.index_put.default", self=%x, indices=[%m], values=%v)", {kSix, {0, 1}, {0}}),
            (std::vector<double>{1, 2, 3, 0, 0, 0}));
}

TEST(IndexOps, Lookups) {
  EXPECT_EQ(run("%x : i64[2]", "i64[2,3]", R"("aten.one_hot.default", self=%x, num_classes=3)", {{2, 0}}),
            (std::vector<double>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(run("%x : f32[3], %b : f32[2]", "i64[3]", R"("aten.bucketize.Tensor", self=%x, boundaries=%b)",
                {{0, 1, 5}, {1, 3}}),
            (std::vector<double>{0, 0, 2}));
  EXPECT_EQ(run("%x : f32[3], %b : f32[2]", "i64[3]", R"("aten.bucketize.Tensor", self=%x, boundaries=%b, right=true)",
                {{0, 1, 5}, {1, 3}}),
            (std::vector<double>{0, 1, 2}));
  // Windows that overlap add up.
  EXPECT_EQ(
      run("%x : f32[1,2,2]", "f32[1,1,1,3]",
          R"("aten.col2im.default", self=%x, output_size=[1,3], kernel_size=[1,2], dilation=[1,1], padding=[0,0], stride=[1,1])",
          {{1, 2, 10, 20}}),
      (std::vector<double>{1, 12, 20}));
}

TEST(IndexOps, HostileArgumentsAreRefused) {
  const std::string inputs =
      "const %k : i64[2] = [9223372036854775807,-9223372036854775808]\n  input %x : f32[2,3]\n  input %i : i64[2]\n"
      "  input %f : f32[2]\n  input %m : bool[2,3]";
  for (const char* call : {
           R"("aten.index_select.default", self=%x, dim=0, index=%k)",
           R"("aten.index_select.default", self=%x, dim=0, index=%f)",
           R"("aten.index_select.default", self=%x, dim=0, index=%x)",
           R"("aten.gather.default", self=%x, dim=1, index=%i)",
           R"("aten.index.Tensor", self=%x, indices=[%i,%i,%i])",
           R"("aten.index.Tensor", self=%x, indices=[%k,%k])",
           R"("aten.index.Tensor", self=%x, indices=[%m])",
           R"("aten.index_put.default", self=%x, indices=[%k], values=%f)",
           R"("aten.scatter.src", self=%x, dim=1, index=%i, src=%f)",
           R"("aten.scatter_reduce.two", self=%x, dim=1, index=%i, src=%f, reduce="median")",
           R"("aten.index_add.default", self=%x, dim=1, index=%i, source=%f)",
           R"("aten.one_hot.default", self=%i, num_classes=9223372036854775807)",
           R"("aten.col2im.default", self=%x, output_size=[0,0], kernel_size=[1,1])",
           R"("aten.col2im.default", self=%x, output_size=[9223372036854775807,4], kernel_size=[2,2])",
           R"("aten.nonzero.default", self=%x)",
           R"("aten.masked_select.default", self=%x, mask=%m)",
           R"("aten.tril_indices.default", row=9223372036854775807, col=9223372036854775807)",
       }) {
    EXPECT_TRUE(test::is_refused(inputs, "f32[2,3]", call)) << call;
  }
}

}  // namespace
}  // namespace isthmus::index_ops_test
