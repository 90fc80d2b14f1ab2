// Makes, uses and ends thread pools.
#include "backends/xnnpack/thread_pool.h"

#include <pthreadpool.h>

#include <algorithm>

namespace isthmus::xnnpack {

ThreadPool::ThreadPool(std::size_t threads)
    : threads_(std::max<std::size_t>(threads, 1)), pool_(threads > 1 ? pthreadpool_create(threads) : nullptr) {}

void ThreadPool::Delete::operator()(pthreadpool* pool) const { pthreadpool_destroy(pool); }

void ThreadPool::on_each_thread(const std::function<void(std::size_t)>& work) const {
  pthreadpool_parallelize_1d(
      pool_.get(),
      [](void* context, std::size_t i) { (*static_cast<const std::function<void(std::size_t)>*>(context))(i); },
      const_cast<std::function<void(std::size_t)>*>(&work), threads_, 0);
}

}  // namespace isthmus::xnnpack
