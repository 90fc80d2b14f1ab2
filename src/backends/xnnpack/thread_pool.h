// Threads that the caller owns and lends to runtimes.
#pragma once

#include <cstddef>
#include <memory>

struct pthreadpool;

namespace isthmus::xnnpack {

class ThreadPool {
 public:
  // With one thread the caller's own does all the work, and none is started.
  explicit ThreadPool(std::size_t threads);

  pthreadpool* get() const { return pool_.get(); }

 private:
  struct Delete {
    void operator()(pthreadpool* pool) const;
  };
  std::unique_ptr<pthreadpool, Delete> pool_;
};

}  // namespace isthmus::xnnpack
