// The text form of a graph: one node per line, complete enough to be read back.
//
//   graph
//     symbol s0 in [1,64] ~3
//     input %image : f32[s0,3,8,8]
//     state %cache : f32[2] = [0.0,0.0] "stem.cache"
//     const %w : f32[8,3,3,3] #1f0c9a2e55d0b7a1 "stem.weight"
//     %conv = conv2d(%image, %w) stride=[2,2] : f32[s0,8,4,4]  # vit.py:40 conv2d in stem
//     %odd = foreign("aten.foo.default", self=%conv, dim=1) : f32[s0,8,4,4]
//     mutate "cache" %new
//     return %odd
//
// A state begins with the value that stands behind it; what a run leaves in it is what `mutate` says.
// Where values are quantized, their types name the parameters, which follow the graph: values that share them bit for
// bit name the same.
//
//     %q = quantize(%image) : i8[s0,3,8,8] @q0
//     const %w : i8[2,3,1,1] @q1 = [1,-127,3,4,5,127]
//     ...
//     return %y
//   quant
//     @q0 i8 scale=0.05 zp=3 {%q}
//     @q1 i8 axis=0 scale=[0.01,0.02] {%w}
//
// A zero point of 0 is left out; who is in the braces is for people. A node that must stay in float has "!float" behind
// its attributes.
//
// Attributes that have their default are left out. Constants of up to eight elements are written out, larger ones by
// the hash of their contents: a graph read back from text has the latter without data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "ir/graph.h"

namespace isthmus {

struct TextOptions {
  bool with_names = true;    // else values are numbered in the order of their definition
  bool with_origins = true;  // and the names of constants in the user's module
  // What a stage adds to the line of each node, by node: "  |host dtype". Such text is for people and is not read back.
  std::vector<std::string> notes = {};
};

std::string print(const Graph& graph, const TextOptions& options = {});

// Errors name the line.
Expected<Graph> parse_graph(std::string_view text);

// One argument of a foreign op: "[1,4*s0]", "none", "\"same\""; a tensor in it is written as "tensor".
std::string arg_text(const Graph& graph, const ArgValue& value);

}  // namespace isthmus
