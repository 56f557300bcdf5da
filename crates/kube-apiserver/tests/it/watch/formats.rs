//! Watches of tables and of metadata alone.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{Http, MAPS, TABLE, map_with, revision_of};

const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const INITIAL: &str =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async fn with_two() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(MAPS, map_with("a", "1")).await.ok();
    http.post(MAPS, map_with("b", "1")).await.ok();
    (cluster, http)
}

#[tokio::test]
async fn only_the_first_table_says_what_its_columns_are() {
    let (cluster, http) = with_two().await;
    let mut watch = http.watch_as(MAPS, INITIAL, TABLE).await;
    let first = watch.next().await.unwrap();
    assert_eq!(first["type"], "ADDED");
    let table = &first["object"];
    assert_eq!(
        (&table["kind"], &table["apiVersion"]),
        (&json!("Table"), &json!("meta.k8s.io/v1"))
    );
    let columns = table["columnDefinitions"].as_array().unwrap();
    let names: Vec<_> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(names, ["Name", "Data", "Age"]);
    let row = &table["rows"][0];
    assert_eq!(
        (&row["cells"][0], &row["cells"][1]),
        (&json!("a"), &json!(1))
    );
    let stored = http.get(&format!("{MAPS}/a")).await.ok();
    let partial = json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": stored["metadata"],
    });
    assert_eq!(row["object"], partial);
    assert_eq!(
        table["metadata"],
        json!({"resourceVersion": stored["metadata"]["resourceVersion"]})
    );

    let second = watch.next().await.unwrap();
    assert_eq!(second["object"]["columnDefinitions"], Value::Null);
    assert_eq!(second["object"]["rows"][0]["cells"][0], "b");

    let mark = watch.next().await.unwrap();
    assert_eq!(mark["type"], "BOOKMARK");
    let revision = cluster.revision().await.to_string();
    assert_eq!(
        mark["object"]["metadata"],
        json!({"resourceVersion": revision})
    );
    assert_eq!(mark["object"]["columnDefinitions"], Value::Null);
    let row = &mark["object"]["rows"][0];
    assert_eq!(row["cells"], json!(["", 0, "<unknown>"]));
    let metadata = json!({
        "resourceVersion": revision,
        "annotations": {"k8s.io/initial-events-end": "true"},
    });
    assert_eq!(row["object"]["metadata"], metadata);

    http.delete(&format!("{MAPS}/a")).await.ok();
    let deleted = watch.next().await.unwrap();
    assert_eq!(
        (&deleted["type"], &deleted["object"]["rows"][0]["cells"][0]),
        (&json!("DELETED"), &json!("a"))
    );
    assert_eq!(revision_of(&deleted["object"]), cluster.revision().await);
}

#[tokio::test]
async fn rows_include_the_requested_part_of_the_object() {
    let (_cluster, http) = with_two().await;
    let row = async |include: &str| {
        let mut watch = http
            .watch_as(MAPS, &format!("includeObject={include}"), TABLE)
            .await;
        watch.next().await.unwrap()["object"]["rows"][0]["object"].clone()
    };
    assert_eq!(row("None").await, Value::Null);
    assert_eq!(row("Metadata").await["kind"], "PartialObjectMetadata");
    let whole = row("Object").await;
    assert_eq!(
        (&whole["kind"], &whole["data"]["value"]),
        (&json!("ConfigMap"), &json!("1"))
    );
    http.get_as(&format!("{MAPS}?watch=1&includeObject=Foo"), TABLE).await.refused_with(
        400,
        "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', 'Object', 'None', or empty",
    );
}

#[tokio::test]
async fn metadata_can_be_watched_alone() {
    let (cluster, http) = with_two().await;
    let mut watch = http.watch_as(MAPS, INITIAL, METADATA).await;
    for name in ["a", "b"] {
        let stored = http.get(&format!("{MAPS}/{name}")).await.ok();
        let wanted = json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": stored["metadata"],
        });
        assert_eq!(
            watch.next().await.unwrap(),
            json!({"type": "ADDED", "object": wanted})
        );
    }
    let mark = watch.next().await.unwrap();
    let metadata = json!({
        "resourceVersion": cluster.revision().await.to_string(),
        "annotations": {"k8s.io/initial-events-end": "true"},
    });
    let wanted = json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
    });
    assert_eq!(mark, json!({"type": "BOOKMARK", "object": wanted}));
}

#[tokio::test]
async fn errors_are_statuses_in_every_format() {
    let (cluster, http) = with_two().await;
    let old = cluster.revision().await - 1;
    http.post(MAPS, map_with("c", "1")).await.ok();
    cluster.compact_now().await;
    for accept in [TABLE, METADATA] {
        let events = http
            .watch_as(MAPS, &format!("resourceVersion={old}"), accept)
            .await
            .rest()
            .await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["type"], "ERROR");
        assert_eq!(events[0]["object"]["kind"], "Status");
        assert_eq!(events[0]["object"]["code"], 410);
    }
}

#[tokio::test]
async fn a_watch_in_yaml_is_not_to_be_had() {
    let (_cluster, http) = with_two().await;
    let answer = http
        .get_as(&format!("{MAPS}?watch=1"), "application/yaml")
        .await;
    assert_eq!(answer.code, 406);
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(
        text.starts_with("apiVersion: v1\ncode: 406\nkind: Status\n"),
        "{text}"
    );
    assert!(text.contains("reason: NotAcceptable\n"), "{text}");
}
