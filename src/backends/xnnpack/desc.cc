// What the XNNPACK delegate needs.
#include "backends/xnnpack/desc.h"

#include "backends/xnnpack/forms.h"

namespace isthmus::xnnpack {

const BackendDesc& desc() {
  static const BackendDesc desc{
      .name = "xnnpack",
      .what = "CPUs, through ExecuTorch's XNNPACK delegate",
      .ops = ops_with_forms,
      .legalize = legalizations(),
      .refusal = refusal,
      .lower = lower,
  };
  return desc;
}

}  // namespace isthmus::xnnpack
