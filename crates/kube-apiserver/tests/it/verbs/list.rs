//! `list`: long ones, which are sent while they are read.

use kubewright_testing::TestCluster;
use serde_json::json;

use crate::http_client::{Http, MAPS, map_with};

/// More than the server reads at once, and more than it sends at once.
const MANY: usize = 1100;

#[tokio::test]
async fn a_long_list_is_whole_and_in_order() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let filler = "x".repeat(200);
    let mut expected = Vec::new();
    for i in 0..MANY {
        let name = format!("m{i:04}");
        http.post(MAPS, map_with(&name, &filler)).await.ok();
        expected.push(name);
    }
    assert_eq!(http.get(MAPS).await.names(), expected);
    let everywhere = http.get("/api/v1/configmaps").await.ok();
    assert_eq!(everywhere["items"].as_array().map(Vec::len), Some(MANY));
    assert_eq!(everywhere["metadata"]["continue"], json!(null));
    // What no selector lets through leaves a list that is empty, not broken.
    let none = http.get(&format!("{MAPS}?labelSelector=no=such")).await;
    assert!(none.names().is_empty());
}
