//! [`retry_on_conflict`]: read, change, write, and again when somebody was quicker.

use std::time::Duration;

use crate::error::Result;

/// How often it is tried, and how long to wait in between (FC-3): a little, since whoever was quicker is done.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Calls until there is no conflict, five times at most. Other errors, and the last conflict, are the caller's.
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
pub async fn retry_on_conflict<T>(mut change: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let mut tried = 0;
    loop {
        tried += 1;
        match change().await {
            Err(error) if error.is_conflict() && tried < TRIES => tokio::time::sleep(PAUSE).await,
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::Error;

    fn refused(reason: &str) -> Error {
        Error::Api(Box::new(Status::failure("no", reason)))
    }

    /// FC-3
    #[tokio::test(start_paused = true)]
    async fn only_conflicts_are_tried_again_and_five_times_at_most() {
        let mut calls = 0;
        let lost = retry_on_conflict(async || {
            calls += 1;
            Err::<(), _>(refused("Conflict"))
        });
        assert!(lost.await.unwrap_err().is_conflict());
        assert_eq!(calls, 5);

        let mut calls = 0;
        let won = retry_on_conflict(async || {
            calls += 1;
            if calls < 3 {
                Err(refused("Conflict"))
            } else {
                Ok(calls)
            }
        });
        assert_eq!(won.await.unwrap(), 3);

        let mut calls = 0;
        let other = retry_on_conflict(async || {
            calls += 1;
            Err::<(), _>(refused("Forbidden"))
        });
        assert!(other.await.is_err());
        assert_eq!(calls, 1);
    }
}
