// The versions of the formats that are read and written.
#pragma once

#include <cstdint>

namespace isthmus {

inline constexpr std::int64_t kTorchSchema = 8;  // of a torch.export archive: its major number
inline constexpr std::int64_t kFirstOpset = 7;   // of ONNX: those that are tested
inline constexpr std::int64_t kLastOpset = 23;
inline constexpr char kProgramIdentifier[] = "ET12";  // of ExecuTorch's program file

}  // namespace isthmus
