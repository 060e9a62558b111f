// The GPU kernels in the registry of a library of TensorFlow 1.3.0: a KernelList as text.
//
// KernelRegistration is private to tensorflow/core/framework/op_kernel.cc at tag v1.3.0; its layout
// is repeated here.
#include <set>
#include <string>
#include <unordered_map>

#include "tensorflow/core/framework/kernel_def.pb.h"

namespace tensorflow {
class OpKernel;
class OpKernelConstruction;
std::string ProtoDebugString(const KernelDef& kernel);
void* GlobalKernelRegistry();
}  // namespace tensorflow

struct Registration {
  const tensorflow::KernelDef def;
  const std::string class_name;
  tensorflow::OpKernel* (*const factory)(tensorflow::OpKernelConstruction*);
};

extern "C" const char* gpu_kernels() {
  using Registry = std::unordered_multimap<std::string, Registration>;
  std::set<std::string> sorted;
  for (const auto& entry : *static_cast<Registry*>(tensorflow::GlobalKernelRegistry())) {
    const tensorflow::KernelDef& def = entry.second.def;
    if (def.device_type() == "GPU") sorted.insert(tensorflow::ProtoDebugString(def));
  }
  static std::string text;
  for (const auto& kernel : sorted) text += "kernel {\n" + kernel + "}\n";
  return text.c_str();
}
