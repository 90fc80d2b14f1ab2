// Makes, uses and ends thread pools.
#include "engines/xnnpack/thread_pool.h"

#include <pthreadpool.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace isthmus::xnnpack {

ThreadPool::ThreadPool(std::size_t threads) : threads_(std::max<std::size_t>(threads, 1)) {}

pthreadpool* ThreadPool::get() const {
  if (threads_ > 1 && pool_ == nullptr) pool_.reset(pthreadpool_create(threads_));
  return pool_.get();
}

void ThreadPool::Delete::operator()(pthreadpool* pool) const { pthreadpool_destroy(pool); }

void ThreadPool::on_each_thread(const std::function<void(std::size_t)>& work) const {
  std::vector<std::jthread> others;
  others.reserve(threads_ - 1);
  try {
    for (std::size_t i = 1; i < threads_; ++i) others.emplace_back([&work, i] { work(i); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those that run do all the work.
  }
  work(0);
}

}  // namespace isthmus::xnnpack
