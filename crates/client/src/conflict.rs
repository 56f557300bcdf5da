//! [`retry_on_conflict`]: read, modify, write, and start over after a conflict.

use std::{error::Error as StdError, future::Future, time::Duration};

use crate::error::is_conflict;

/// The maximum number of attempts, as in client-go's `DefaultRetry`.
const ATTEMPTS: u32 = 5;

/// The wait between attempts. It is short, since the other writer has finished by then.
const PAUSE: Duration = Duration::from_millis(10);

/// Calls `change` until it does not fail with a conflict, at most five times.
///
/// `change` reads the object, modifies it and writes it back. The error may be of any type that carries the server's
/// `Status`: [`crate::Error`], [`kube::Error`], or an error that wraps one of them.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_client::{ClientSet, retry_on_conflict};
///
/// let namespaces = ClientSet::new(client).cluster::<Namespace>();
/// retry_on_conflict(async || {
///     let mut namespace = namespaces.get("default").await?;
///     namespace.metadata.labels.get_or_insert_default().insert("team".into(), "shop".into());
///     namespaces.update(&Default::default(), &namespace).await
/// })
/// .await
/// .unwrap();
/// # });
/// ```
///
/// # Errors
///
/// Returns the first error that is not a conflict, or the conflict of the last attempt.
// Not an `AsyncFnMut`: its futures cannot be required to be `Send`, so spawned tasks could not call this.
pub async fn retry_on_conflict<T, E, F>(mut change: impl FnMut() -> F) -> Result<T, E>
where
    E: StdError + 'static,
    F: Future<Output = Result<T, E>>,
{
    for _ in 1..ATTEMPTS {
        match change().await {
            Err(error) if is_conflict(&error) => tokio::time::sleep(PAUSE).await,
            result => return result,
        }
    }
    change().await
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::Error;

    fn refused(reason: &str) -> Error {
        Error::Api(Box::new(Status::failure("no", reason)))
    }

    #[tokio::test(start_paused = true)]
    async fn only_conflicts_are_tried_again_and_five_times_at_most() {
        let mut calls = 0;
        let lost = retry_on_conflict(|| {
            calls += 1;
            async { Err::<(), _>(refused("Conflict")) }
        });
        assert!(lost.await.unwrap_err().is_conflict());
        assert_eq!(calls, 5);

        let mut calls = 0;
        let won = retry_on_conflict(|| {
            calls += 1;
            let calls = calls;
            async move {
                if calls < 3 {
                    Err(refused("Conflict"))
                } else {
                    Ok(calls)
                }
            }
        });
        assert_eq!(won.await.unwrap(), 3);

        let mut calls = 0;
        let other = retry_on_conflict(|| {
            calls += 1;
            async { Err::<(), _>(refused("Forbidden")) }
        });
        assert!(other.await.is_err());
        assert_eq!(calls, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn errors_of_kube_are_understood() {
        let mut calls = 0;
        let won = retry_on_conflict(|| {
            calls += 1;
            let lost = calls == 1;
            async move {
                if lost {
                    Err(kube::Error::from(refused("Conflict")))
                } else {
                    Ok(())
                }
            }
        });
        won.await.unwrap();
        assert_eq!(calls, 2);
    }
}
