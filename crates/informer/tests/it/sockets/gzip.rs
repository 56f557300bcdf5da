//! Answers that are compressed, and end in the middle.

use super::survives;

/// Compressed lists and watches are unpacked, and half of one is no whole: a list that is cut is listed
/// again, a watch that is cut goes on where it ended.
#[tokio::test(flavor = "multi_thread")]
async fn truncated_gzip() {
    for at in [0, 5, 60, 300] {
        survives(
            |front| {
                // The first attempts fail, the next succeeds.
                front.gzip(Some(at), Some(at));
                front.gzip(Some(at / 2), Some(at / 2));
                front.gzip(None, None);
            },
            async |front| front.client(front.address()),
            async |front, round| {
                front.gzip(Some(at + round), Some(at + round));
                front.disconnect();
            },
        )
        .await;
    }
}

/// A compressed answer is not only survived: it is understood.
#[tokio::test(flavor = "multi_thread")]
async fn whole_gzip_is_read() {
    let server = crate::simulated::Server::new(1);
    (0..20).for_each(|i| server.put(&format!("w{i}")));
    let front = super::Front::of_memory(&server).await;
    front.gzip(None, None);
    let (informer, history) = super::widgets_through(front.client(front.address()), false);
    crate::simulated::converged(&server, &informer, &history).await;
    server.put("w1");
    server.delete("w2");
    crate::simulated::converged(&server, &informer, &history).await;
    assert_eq!(front.planned(), 0);
    assert_eq!(informer.metrics().lists, 1);
    assert_eq!(informer.metrics().total_relists(), 0);
}
