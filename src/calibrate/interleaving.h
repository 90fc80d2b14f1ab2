// Images whose channels lie pixel by pixel (NHWC) in the shape of planes (NCHW), as a buffer of a camera has them when
// it is reshaped instead of transposed: shapes cannot tell.
#pragma once

#include "interpret/tensor.h"

namespace isthmus {

// Along rows of an image in planes, the next number is nearer than the one as many places on as there are channels. In
// interleaved ones it is the other way round: that one is the next pixel of the same channel.
class Interleaving {
 public:
  // Counts only [N, C, H, W] with several channels and rows that are longer.
  void add(const Tensor& image);
  bool is_interleaved() const;

 private:
  double next_ = 0;     // squared differences to the next number
  double channel_ = 0;  // to the one as many places on as there are channels
};

}  // namespace isthmus
