// Movement and padding: one canonical form for all names, Python's rules for bounds, and hostile arguments.
#include <gtest/gtest.h>

#include "support/spellings.h"

namespace isthmus::movement_ops_test {
namespace {

using test::form_of;
using test::run;
using test::same_form;

TEST(MovementOps, NamesOfPermute) {
  EXPECT_TRUE(same_form(
      "%x : f32[2,3,4]", "f32[2,4,3]",
      {R"("aten.permute.default", self=%x, dims=[0,-1,1])", R"("aten.permute_copy.default", self=%x, dims=[0,2,1])",
       R"("aten.transpose.int", self=%x, dim0=1, dim1=-1)", R"("aten.swapaxes.default", self=%x, axis0=1, axis1=2)",
       R"("aten.swapdims.default", self=%x, dim0=2, dim1=1)", R"("aten.mT.default", self=%x)",
       R"("aten.mH.default", self=%x)", R"("aten.adjoint.default", self=%x)",
       R"("aten.moveaxis.int", self=%x, source=1, destination=2)",
       R"("aten.moveaxis.intlist", self=%x, source=[1], destination=[-1])",
       R"("aten.movedim.int", self=%x, source=2, destination=1)",
       R"("aten.movedim.intlist", self=%x, source=[0,2], destination=[0,1])"}));
  EXPECT_TRUE(same_form("%x : f32[2,3]", "f32[3,2]",
                        {R"("aten.t.default", self=%x)", R"("aten.numpy_T.default", self=%x)",
                         R"("aten.matrix_H.default", self=%x)", R"("aten.transpose.int", self=%x, dim0=0, dim1=1)"}));
}

TEST(MovementOps, NamesOfReshape) {
  EXPECT_TRUE(same_form(
      "%x : f32[2,3,4], %y : f32[2,12]", "f32[2,12]",
      {R"("aten.view.default", self=%x, size=[2,12])", R"("aten.view_copy.default", self=%x, size=[-1,12])",
       R"("aten.reshape.default", self=%x, shape=[2,-1])", R"("aten._unsafe_view.default", self=%x, size=[2,12])",
       R"("aten._reshape_alias.default", self=%x, size=[2,12], stride=[12,1])",
       R"("aten.flatten.using_ints", self=%x, start_dim=1)",
       R"("aten.flatten.using_ints", self=%x, start_dim=-2, end_dim=-1)",
       R"("aten.view_as.default", self=%x, other=%y)", R"("aten.reshape_as.default", self=%x, other=%y)"}));
  EXPECT_TRUE(same_form("%x : f32[2,1,3]", "f32[2,3]",
                        {R"("aten.squeeze.default", self=%x)", R"("aten.squeeze.dim", self=%x, dim=1)",
                         R"("aten.squeeze.dims", self=%x, dim=[0,-2])", R"("aten.view.default", self=%x, size=[2,3])",
                         R"("aten.select.int", self=%x, dim=1, index=0)"}));
  EXPECT_TRUE(same_form(
      "%x : f32[6]", "f32[6,1]",
      {R"("aten.unsqueeze.default", self=%x, dim=-1)", R"("aten.unflatten.int", self=%x, dim=0, sizes=[6,-1])"}));
  EXPECT_TRUE(same_form("%x : f32[]", "f32[1]",
                        {R"("aten.ravel.default", self=%x)", R"("aten.flatten.using_ints", self=%x)",
                         R"("aten.atleast_1d.default", self=%x)", R"("aten.unsqueeze.default", self=%x, dim=0)"}));
}

TEST(MovementOps, SymbolicReshape) {
  EXPECT_EQ(form_of("symbol s0 in [1,8] ~3\n  input %x : f32[s0,4,6]", "f32[2*s0,12]",
                    R"("aten.view.default", self=%x, size=[-1,12])"),
            "%1 = reshape(%0) shape=[2*s0,12] : f32[2*s0,12]\nreturn %1\n");
  EXPECT_EQ(form_of("symbol s0 in [1,8] ~3\n  input %x : f32[s0,4,6]", "f32[s0,24]",
                    R"("aten.flatten.using_ints", self=%x, start_dim=1)"),
            "%1 = reshape(%0) shape=[s0,24] : f32[s0,24]\nreturn %1\n");
}

TEST(MovementOps, NamesOfExpand) {
  EXPECT_TRUE(same_form(
      "%x : f32[3,1], %y : f32[2,3,4]", "f32[2,3,4]",
      {R"("aten.expand.default", self=%x, size=[2,-1,4])", R"("aten.expand_copy.default", self=%x, size=[2,3,4])",
       R"("aten.expand_as.default", self=%x, other=%y)", R"("aten.broadcast_to.default", self=%x, size=[2,3,4])",
       R"("aten.repeat.default", self=%x, repeats=[2,1,4])", R"("aten.tile.default", self=%x, dims=[2,1,4])"}));
  EXPECT_EQ(run("%x : f32[2,2]", "f32[2,4]", R"("aten.repeat.default", self=%x, repeats=[1,2])", {{1, 2, 3, 4}}),
            (std::vector<double>{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(run("%x : f32[2,2]", "f32[2,4]", R"("aten.repeat_interleave.self_int", self=%x, repeats=2, dim=1)",
                {{1, 2, 3, 4}}),
            (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(run("%x : f32[2]", "f32[0]", R"("aten.repeat.default", self=%x, repeats=[0])", {{1, 2}}),
            std::vector<double>{});
}

TEST(MovementOps, NamesOfSlice) {
  EXPECT_TRUE(same_form(
      "%x : f32[2,6]", "f32[2,2]",
      {R"("aten.slice.Tensor", self=%x, dim=1, start=4, end=9223372036854775807)",
       R"("aten.slice.Tensor", self=%x, dim=-1, start=-2)", R"("aten.slice.Tensor", self=%x, dim=1, start=-2, end=100)",
       R"("aten.slice_copy.Tensor", self=%x, dim=1, start=4)",
       R"("aten.narrow.default", self=%x, dim=1, start=4, length=2)",
       R"("aten.narrow.default", self=%x, dim=1, start=-2, length=2)"}));
  EXPECT_TRUE(same_form(
      "%x : f32[5]", "f32[3]",
      {R"("aten.slice.Tensor", self=%x, step=2)", R"("aten.slice.Tensor", self=%x, start=-100, end=5, step=2)"}));
  EXPECT_EQ(form_of("input %x : f32[5]", "f32[0]", R"("aten.slice.Tensor", self=%x, start=4, end=2)"),
            "%1 = slice(%0) : f32[0]\nreturn %1\n");
  // A slice of everything is nothing, also of an axis of unknown size.
  EXPECT_EQ(form_of("symbol s0 in [,] ~3\n  input %x : f32[s0,4]", "f32[s0,4]",
                    R"("aten.slice.Tensor", self=%x, dim=0, start=0, end=9223372036854775807)"),
            "return %0\n");
  EXPECT_EQ(form_of("symbol s0 in [4,] ~5\n  input %x : f32[s0,4]", "f32[s0-3,4]",
                    R"("aten.slice.Tensor", self=%x, dim=0, start=2, end=-1)"),
            "%1 = slice(%0) start=2 end=s0-1 : f32[s0-3,4]\nreturn %1\n");
}

TEST(MovementOps, NamesOfSplit) {
  const std::vector<std::string> names = {
      R"("aten.split.Tensor", self=%x, split_size=2, dim=1)",
      R"("aten.split.sizes", self=%x, split_size=[2,1], dim=1)",
      R"("aten.split_with_sizes.default", self=%x, split_sizes=[2,1], dim=1)",
      R"("aten.split_with_sizes_copy.default", self=%x, split_sizes=[2,1], dim=-1)",
      R"("aten.unsafe_split.Tensor", self=%x, split_size=2, dim=1)",
      R"("aten.chunk.default", self=%x, chunks=2, dim=1)",
      R"("aten.unsafe_chunk.default", self=%x, chunks=2, dim=1)",
      R"("aten.tensor_split.sections", self=%x, sections=2, dim=1)",
      R"("aten.tensor_split.indices", self=%x, indices=[-1], dim=1)",
      R"("aten.hsplit.array", self=%x, indices=[2])",
  };
  EXPECT_TRUE(same_form("%x : f32[2,3]", "f32[2,2], f32[2,1]", names));
  EXPECT_TRUE(same_form("%x : f32[2,3]", "f32[3], f32[3]",
                        {R"("aten.unbind.int", self=%x)", R"("aten.unbind_copy.int", self=%x, dim=-2)"}));
}

TEST(MovementOps, TurnsAndShuffles) {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  const auto turned = [&](const std::string& type, const std::string& call) {
    return run("%x : f32[2,3]", type, call, {six});
  };
  EXPECT_EQ(turned("f32[2,3]", R"("aten.roll.default", self=%x, shifts=[1], dims=[1])"),
            (std::vector<double>{3, 1, 2, 6, 4, 5}));
  EXPECT_EQ(turned("f32[2,3]", R"("aten.roll.default", self=%x, shifts=[-2])"),
            (std::vector<double>{3, 4, 5, 6, 1, 2}));
  EXPECT_EQ(turned("f32[2,3]", R"("aten.roll.default", self=%x, shifts=[3,-4], dims=[1,0])"), six);
  EXPECT_EQ(turned("f32[3,2]", R"("aten.rot90.default", self=%x, k=1, dims=[0,1])"),
            (std::vector<double>{3, 6, 2, 5, 1, 4}));
  EXPECT_EQ(turned("f32[3,2]", R"("aten.rot90.default", self=%x, k=-1, dims=[0,1])"),
            (std::vector<double>{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(turned("f32[2,3]", R"("aten.flip.default", self=%x, dims=[-1,0])"),
            (std::vector<double>{6, 5, 4, 3, 2, 1}));
  EXPECT_TRUE(same_form("%x : f32[2,3]", "f32[2,3]",
                        {R"("aten.flip.default", self=%x, dims=[-1])", R"("aten.fliplr.default", self=%x)"}));
  EXPECT_TRUE(same_form("%x : f32[1,8,3,3]", "f32[1,8,3,3]",
                        {R"("aten.channel_shuffle.default", self=%x, groups=2)",
                         R"("aten.native_channel_shuffle.default", self=%x, groups=2)"}));
  EXPECT_EQ(run("%x : f32[4,1,2]", "f32[1,2,4]", R"("aten.pixel_shuffle.default", self=%x, upscale_factor=2)",
                {{0, 1, 10, 11, 20, 21, 30, 31}}),
            (std::vector<double>{0, 10, 1, 11, 20, 30, 21, 31}));
}

TEST(MovementOps, DiagonalsAndTriangles) {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  const auto of = [&](const std::string& type, const std::string& call) {
    return run("%x : f32[2,3]", type, call, {six});
  };
  EXPECT_EQ(of("f32[2]", R"("aten.diagonal.default", self=%x)"), (std::vector<double>{1, 5}));
  EXPECT_EQ(of("f32[2]", R"("aten.diagonal.default", self=%x, offset=1)"), (std::vector<double>{2, 6}));
  EXPECT_EQ(of("f32[1]", R"("aten.diagonal.default", self=%x, offset=-1)"), (std::vector<double>{4}));
  EXPECT_EQ(of("f32[2]", R"("aten.diagonal.default", self=%x, offset=-1, dim1=1, dim2=0)"),
            (std::vector<double>{2, 6}));
  EXPECT_EQ(of("f32[0]", R"("aten.diagonal.default", self=%x, offset=9)"), std::vector<double>{});
  EXPECT_EQ(of("f32[2,3]", R"("aten.tril.default", self=%x)"), (std::vector<double>{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(of("f32[2,3]", R"("aten.triu.default", self=%x, diagonal=1)"), (std::vector<double>{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(run("%x : f32[2]", "f32[3,3]", R"("aten.diag_embed.default", self=%x, offset=-1)", {{7, 8}}),
            (std::vector<double>{0, 0, 0, 7, 0, 0, 0, 8, 0}));
  EXPECT_TRUE(same_form("%x : f32[2]", "f32[2,2]",
                        {R"("aten.diag_embed.default", self=%x)", R"("aten.diag.default", self=%x)",
                         R"("aten.diagflat.default", self=%x)"}));
  EXPECT_EQ(
      run("%x : f32[1,2], %z : f32[]", "f32[2,3]", R"("aten.block_diag.default", tensors=[%x,%z])", {{1, 2}, {3}}),
      (std::vector<double>{1, 2, 0, 0, 0, 3}));
}

TEST(MovementOps, Windows) {
  EXPECT_EQ(
      form_of("input %x : f32[2,6]", "f32[2,3,2]", R"("aten.unfold.default", self=%x, dimension=1, size=2, step=2)"),
      "%1 = reshape(%0) shape=[2,3,2] : f32[2,3,2]\nreturn %1\n");
  EXPECT_EQ(run("%x : f32[5]", "f32[2,3]", R"("aten.unfold.default", self=%x, dimension=0, size=3, step=2)",
                {{1, 2, 3, 4, 5}}),
            (std::vector<double>{1, 2, 3, 3, 4, 5}));
  EXPECT_EQ(
      run("%x : f32[6]", "f32[2,2]",
          R"("aten.as_strided.default", self=%x, size=[2,2], stride=[3,1], storage_offset=1)", {{1, 2, 3, 4, 5, 6}}),
      (std::vector<double>{2, 3, 5, 6}));
  // The windows of a picture that do not overlap, and the picture again.
  EXPECT_EQ(run("%x : f32[1,1,2,4]", "f32[1,4,2]",
                R"("aten.im2col.default", self=%x, kernel_size=[2,2], dilation=[1,1], padding=[0,0], stride=[2,2])",
                {{1, 2, 3, 4, 5, 6, 7, 8}}),
            (std::vector<double>{1, 3, 2, 4, 5, 7, 6, 8}));
  EXPECT_EQ(
      run("%x : f32[1,4,2]", "f32[1,1,2,4]",
          R"("aten.col2im.default", self=%x, output_size=[2,4], kernel_size=[2,2], dilation=[1,1], padding=[0,0], stride=[2,2])",
          {{1, 3, 2, 4, 5, 7, 6, 8}}),
      (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(PadOps, ModesAndNames) {
  const std::vector<double> three = {1, 2, 3};
  const auto padded = [&](const std::string& type, const std::string& arguments) {
    return run("%x : f32[1,3]", type, R"("aten.pad.default", self=%x, )" + arguments, {three});
  };
  EXPECT_EQ(padded("f32[1,6]", "pad=[1,2]"), (std::vector<double>{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(padded("f32[1,4]", "pad=[-1,2], value=-1.5"), (std::vector<double>{2, 3, -1.5, -1.5}));
  EXPECT_EQ(padded("f32[1,7]", R"(pad=[2,2], mode="reflect")"), (std::vector<double>{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded("f32[1,4]", R"(pad=[-1,2], mode="reflect")"), (std::vector<double>{2, 3, 2, 1}));
  EXPECT_EQ(padded("f32[1,6]", R"(pad=[1,2], mode="replicate")"), (std::vector<double>{1, 1, 2, 3, 3, 3}));
  EXPECT_EQ(padded("f32[1,6]", R"(pad=[1,2], mode="circular")"), (std::vector<double>{3, 1, 2, 3, 1, 2}));
  EXPECT_TRUE(same_form("%x : f32[1,3]", "f32[1,5]",
                        {R"("aten.pad.default", self=%x, pad=[1,1])",
                         R"("aten.constant_pad_nd.default", self=%x, pad=[1,1,0,0], value=0)"}));
  EXPECT_TRUE(same_form("%x : f32[1,3]", "f32[1,5]",
                        {R"("aten.pad.default", self=%x, pad=[1,1], mode="reflect")",
                         R"("aten.reflection_pad1d.default", self=%x, padding=[1,1])"}));
  EXPECT_EQ(run("%x : i64[2]", "i64[3]", R"("aten.constant_pad_nd.default", self=%x, pad=[0,1], value=7)", {{1, 2}}),
            (std::vector<double>{1, 2, 7}));
}

TEST(PadOps, LongAxesBesideEmptyOnesAreNotUnrolled) {
  EXPECT_EQ(
      run("%x : f32[0,3]", "f32[0,1073741827]", R"("aten.constant_pad_nd.default", self=%x, pad=[0,1073741824])", {{}}),
      std::vector<double>());
}

TEST(MovementOps, HostileArgumentsAreRefused) {
  const std::string x = "input %x : f32[2,3]";
  for (const char* call : {
           R"("aten.view.default", self=%x, size=[7])",
           R"("aten.view.default", self=%x, size=[-1,-1])",
           R"("aten.view.default", self=%x, size=[-1,0])",
           R"("aten.view.default", self=%x, size=[4611686018427387904,4611686018427387904])",
           R"("aten.permute.default", self=%x, dims=[0,0])",
           R"("aten.transpose.int", self=%x, dim0=0, dim1=2)",
           R"("aten.expand.default", self=%x, size=[2,4])",
           R"("aten.expand.default", self=%x, size=[9223372036854775807,9223372036854775807,2,3])",
           R"("aten.repeat.default", self=%x, repeats=[-1,1])",
           R"("aten.repeat.default", self=%x, repeats=[9223372036854775807,9223372036854775807])",
           R"("aten.slice.Tensor", self=%x, step=0)",
           R"("aten.slice.Tensor", self=%x, dim=5)",
           R"("aten.select.int", self=%x, dim=0, index=2)",
           R"("aten.select.int", self=%x, dim=0, index=-9223372036854775808)",
           R"("aten.narrow.default", self=%x, dim=0, start=1, length=9223372036854775807)",
           R"("aten.split.Tensor", self=%x, split_size=0)",
           R"("aten.chunk.default", self=%x, chunks=0)",
           R"("aten.tensor_split.sections", self=%x, sections=9223372036854775807)",
           R"("aten.flip.default", self=%x, dims=[0,0])",
           R"("aten.roll.default", self=%x, shifts=[1,2], dims=[0])",
           R"("aten.rot90.default", self=%x, dims=[1,1])",
           R"("aten.pixel_shuffle.default", self=%x, upscale_factor=0)",
           R"("aten.unfold.default", self=%x, dimension=1, size=9223372036854775807, step=1)",
           R"("aten.unfold.default", self=%x, dimension=1, size=1, step=0)",
           R"("aten.as_strided.default", self=%x, size=[2,2], stride=[9223372036854775807,1])",
           R"("aten.as_strided.default", self=%x, size=[2,2], stride=[3,3])",
           R"("aten.im2col.default", self=%x, kernel_size=[0,0])",
           R"("aten.pad.default", self=%x, pad=[9223372036854775807,9223372036854775807])",
           R"("aten.pad.default", self=%x, pad=[-9223372036854775808,0])",
           R"("aten.pad.default", self=%x, pad=[1])",
           R"("aten.pad.default", self=%x, pad=[-2,-2])",
           R"("aten.pad.default", self=%x, pad=[3,0], mode="reflect")",
           R"("aten.pad.default", self=%x, pad=[0,4], mode="circular")",
           R"("aten.pad.default", self=%x, pad=[0,1], mode="sideways")",
       }) {
    EXPECT_TRUE(test::is_refused(x, "f32[2,3]", call)) << call;
  }
}

}  // namespace
}  // namespace isthmus::movement_ops_test
