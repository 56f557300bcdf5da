//! Trying again when somebody else was quicker.

use std::{future::Future, time::Duration};

use kubewright_client::Result;

/// How often it is tried, and how long to wait in between: a little, since whoever was quicker is done.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Reads, changes and writes, until nobody was quicker. Other errors, and the last conflict, are the caller's.
pub(crate) async fn retried<T, F>(mut change: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    for _ in 1..TRIES {
        match change().await {
            Err(error) if error.is_conflict() => tokio::time::sleep(PAUSE).await,
            done => return done,
        }
    }
    change().await
}
