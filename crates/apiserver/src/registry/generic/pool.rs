//! [`BlockingPool`]: work that would hold up the other requests of an async worker.

use std::sync::Arc;

use kubewright_machinery::{Status, field::ErrorList, status};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::Generic;
use crate::request::RequestContext;

/// Threads for computations that may take long, such as the compilation of a large schema.
///
/// The async workers handle other requests meanwhile. The number of threads is bounded, so that such requests compete
/// only with each other. Clones share the threads.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use kubewright_apiserver::registry::BlockingPool;
///
/// let pool = BlockingPool::new(1);
/// assert_eq!(pool.run(|| 6 * 7).await.unwrap(), 42);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct BlockingPool(Arc<Semaphore>);

impl BlockingPool {
    /// Creates a pool of at most `threads` threads, and at least one.
    pub fn new(threads: usize) -> Self {
        let threads = threads.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Semaphore::new(threads)))
    }

    /// Runs a computation, as soon as a thread is free.
    ///
    /// A computation that has begun continues if the future is dropped, and holds its thread until it ends.
    ///
    /// # Errors
    ///
    /// Fails with 500 if the computation panics.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        // The semaphore is never closed.
        let thread = self.0.clone().acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            work()
        });
        done.await.map_err(status::internal)
    }
}

impl Generic {
    /// Validates a new object, in the pool of the strategy if it has one.
    pub(super) async fn validate_create(
        &self,
        cx: &RequestContext,
        object: &Value,
    ) -> Result<ErrorList, Status> {
        let Some(pool) = self.strategy.validation_pool() else {
            return Ok(self.strategy.validate_create(cx, object));
        };
        if let Some(errors) = self.strategy.validate_create_in_place(cx, object) {
            return Ok(errors);
        }
        let (strategy, cx, object) = (self.strategy.clone(), cx.clone(), object.clone());
        pool.run(move || strategy.validate_create(&cx, &object))
            .await
    }

    /// Validates an update, in the pool of the strategy if it has one.
    pub(super) async fn validate_update(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: &Value,
    ) -> Result<ErrorList, Status> {
        let Some(pool) = self.strategy.validation_pool() else {
            return Ok(self.strategy.validate_update(cx, object, old));
        };
        if let Some(errors) = self.strategy.validate_update_in_place(cx, object, old) {
            return Ok(errors);
        }
        let (strategy, cx) = (self.strategy.clone(), cx.clone());
        let (object, old) = (object.clone(), old.clone());
        pool.run(move || strategy.validate_update(&cx, &object, &old))
            .await
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use super::*;

    #[tokio::test]
    async fn other_requests_continue_and_the_threads_are_bounded() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        let pool = BlockingPool::new(2);
        let slow = |pool: BlockingPool| async move {
            pool.run(|| {
                let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
                std::thread::sleep(Duration::from_millis(50));
                RUNNING.fetch_sub(1, Ordering::SeqCst);
                running
            })
            .await
        };
        let tasks: Vec<_> = (0..6).map(|_| tokio::spawn(slow(pool.clone()))).collect();
        // The only async worker of this test is free.
        tokio::time::timeout(Duration::from_secs(1), tokio::task::yield_now())
            .await
            .expect("the worker is free");
        for task in tasks {
            assert!(task.await.unwrap().unwrap() <= 2);
        }
        let panicked: Result<(), Status> = pool.run(|| panic!("on purpose")).await;
        assert_eq!(panicked.unwrap_err().code, 500);
    }
}
