//! Batches that grow while they succeed, so that what cannot succeed is not tried a thousand times.

use futures_util::future::join_all;

/// Calls a function up to `count` times, in concurrent batches of 1, 2, 4 and so on, but at most `largest` calls. After a
/// batch with a failure the rest is skipped. Returns the number of successes and the first failure.
pub(crate) async fn slow_start<R, E>(
    count: usize,
    largest: usize,
    mut call: impl FnMut(usize) -> R,
) -> (usize, Option<E>)
where
    R: Future<Output = Result<(), E>>,
{
    let mut successes = 0;
    let mut started = 0;
    let mut batch = 1;
    while started < count {
        let size = batch.min(count - started).min(largest);
        let calls: Vec<R> = (started..started + size).map(&mut call).collect();
        started += size;
        let mut failure = None;
        for outcome in join_all(calls).await {
            match outcome {
                Ok(()) => successes += 1,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if failure.is_some() {
            return (successes, failure);
        }
        batch *= 2;
    }
    (successes, None)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Returns the number of successes and of calls if those from a position on fail.
    async fn run(count: usize, fails_from: usize) -> (usize, usize) {
        let calls = Mutex::new(0);
        let (successes, _) = slow_start(count, usize::MAX, |i| {
            *calls.lock().unwrap() += 1;
            async move { if i < fails_from { Ok(()) } else { Err(i) } }
        })
        .await;
        (successes, calls.into_inner().unwrap())
    }

    #[tokio::test]
    async fn batches_double_until_one_fails() {
        assert_eq!(run(0, 9).await, (0, 0));
        assert_eq!(run(10, 10).await, (10, 10));
        assert_eq!(run(10, 0).await, (0, 1));
        assert_eq!(run(10, 1).await, (1, 3));
        // 1 + 2 + 4, of which the last fails.
        assert_eq!(run(100, 6).await, (6, 7));
    }

    #[tokio::test]
    async fn a_batch_is_never_larger_than_the_limit() {
        let running = Mutex::new((0, 0));
        let (successes, failure) = slow_start(20, 3, |_| {
            let mut now = running.lock().unwrap();
            now.0 += 1;
            now.1 = now.1.max(now.0);
            async {
                tokio::task::yield_now().await;
                running.lock().unwrap().0 -= 1;
                Ok::<(), ()>(())
            }
        })
        .await;
        assert_eq!((successes, failure), (20, None));
        assert_eq!(running.into_inner().unwrap().1, 3);
    }
}
