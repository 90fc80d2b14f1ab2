// Makes and ends thread pools.
#include "backends/xnnpack/thread_pool.h"

#include <pthreadpool.h>

namespace isthmus::xnnpack {

ThreadPool::ThreadPool(std::size_t threads) : pool_(threads > 1 ? pthreadpool_create(threads) : nullptr) {}

void ThreadPool::Delete::operator()(pthreadpool* pool) const { pthreadpool_destroy(pool); }

}  // namespace isthmus::xnnpack
