// Threads that the caller owns and lends to runtimes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

struct pthreadpool;

namespace isthmus::xnnpack {

class ThreadPool {
 public:
  // With one thread the caller's own does all the work, and none is started.
  explicit ThreadPool(std::size_t threads);

  // For threads inside operators, which meet at the end of each: on a busy machine that takes long. Made at the first
  // call, by one thread.
  pthreadpool* get() const;
  std::size_t threads() const { return threads_; }

  // Calls `work` once for each thread, at the same time, with its number; 0 on the calling thread. Returns when all
  // calls have returned; until then the calling thread sleeps once its own has. Where the system gives fewer threads
  // there are fewer calls, with the lowest numbers: each call must take work for as long as there is some.
  void on_each_thread(const std::function<void(std::size_t)>& work) const;

 private:
  struct Delete {
    void operator()(pthreadpool* pool) const;
  };
  std::size_t threads_;
  mutable std::unique_ptr<pthreadpool, Delete> pool_;
};

}  // namespace isthmus::xnnpack
