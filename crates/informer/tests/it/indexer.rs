//! The cache by itself.

use std::sync::Arc;
use std::time::Duration;

use kubewright_informer::{Compression, Ingest, ObjectKind};
use kubewright_informer::{IndexError, VersionError};
use kubewright_informer::{IndexFn, Indexer, StoredObject};
use kubewright_machinery::labels::LabelSelector;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::simulated::widgets;

fn object(name: &str, version: u32, colours: &[&str]) -> Arc<StoredObject> {
    let kind = ObjectKind::new(widgets(), Compression::None);
    let json = json!({
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": version.to_string(), "labels": {"app": name}},
        "spec": {"colours": colours},
    });
    Ingest::new(kind)
        .object(json.to_string().as_bytes())
        .unwrap()
}

fn coloured() -> Indexer {
    let indexer = Indexer::new();
    indexer
        .add_index("colour", IndexFn::field("spec.colours"))
        .unwrap();
    indexer
}

fn keys(indexer: &Indexer, colour: &str) -> Vec<String> {
    let keys = indexer.snapshot().index_keys("colour", colour).unwrap();
    keys.iter().map(|key| key.name().to_owned()).collect()
}

#[test]
fn adding_twice_is_updating_and_deleting_nothing_is_harmless() {
    let indexer = Indexer::new();
    assert!(indexer.upsert(object("a", 1, &[])).is_none());
    let old = indexer.upsert(object("a", 2, &[])).unwrap();
    assert_eq!(old.resource_version(), "1");
    assert!(indexer.delete("ns/b").is_none());
    assert_eq!(indexer.len(), 1);
}

#[test]
fn an_object_is_found_under_all_its_values_and_no_others() {
    let indexer = coloured();
    indexer.upsert(object("a", 1, &["red", "blue"]));
    indexer.upsert(object("b", 2, &["red"]));
    assert_eq!(keys(&indexer, "red"), ["a", "b"]);
    indexer.upsert(object("a", 3, &["blue", ""]));
    assert_eq!(keys(&indexer, "red"), ["b"]);
    assert_eq!(keys(&indexer, "blue"), ["a"]);
    assert_eq!(keys(&indexer, ""), ["a"]);
    indexer.delete("ns/b");
    assert_eq!(
        indexer.snapshot().index_values("colour").unwrap(),
        ["", "blue"]
    );
    let found = indexer.by_index("colour", "blue").unwrap();
    assert_eq!(found[0].resource_version(), "3");
}

// Ours goes on.
#[test]
fn an_index_function_that_panics_finds_nothing_and_breaks_nothing() {
    let indexer = Indexer::new();
    let picky = IndexFn::new(|object| {
        assert!(object.name() != "bad", "not this one");
        vec![object.name().to_owned()]
    });
    indexer.add_index("name", picky).unwrap();
    indexer.upsert(object("bad", 1, &[]));
    indexer.upsert(object("good", 2, &[]));
    assert_eq!(indexer.len(), 2);
    assert_eq!(indexer.snapshot().index_values("name").unwrap(), ["good"]);
}

#[test]
fn replacing_rebuilds_every_index() {
    let indexer = coloured();
    indexer.upsert(object("a", 1, &["red"]));
    indexer.replace([object("b", 2, &["red"]), object("c", 3, &["green"])], "9");
    assert_eq!(keys(&indexer, "red"), ["b"]);
    assert_eq!(indexer.resource_version().as_deref(), Some("9"));
    assert_eq!(indexer.len(), 2);
}

#[test]
fn an_index_may_come_late_but_not_twice() {
    let indexer = Indexer::new();
    indexer.upsert(object("a", 1, &["red"]));
    indexer
        .add_index("colour", IndexFn::field("spec.colours"))
        .unwrap();
    assert_eq!(keys(&indexer, "red"), ["a"]);
    let again = indexer.add_index("colour", IndexFn::namespace());
    assert_eq!(again, Err(IndexError::Exists("colour".to_owned())));
}

#[test]
fn an_unknown_index_is_an_error_and_sharing_is_by_any_value() {
    let indexer = coloured();
    let a = object("a", 1, &["red", "blue"]);
    indexer.replace(
        [
            a.clone(),
            object("b", 2, &["blue", "red"]),
            object("c", 3, &["green"]),
        ],
        "3",
    );
    let state = indexer.snapshot();
    let sharing = state.sharing("colour", &a).unwrap();
    assert_eq!(
        sharing.iter().map(|o| o.name()).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(
        state.by_index("size", "1").unwrap_err(),
        IndexError::Unknown("size".to_owned())
    );
    assert!(state.by_index("colour", "none").unwrap().is_empty());
}

#[test]
fn the_cache_shows_the_revision_of_its_last_change() {
    let indexer = Indexer::new();
    assert_eq!(indexer.resource_version(), None);
    indexer.upsert(object("a", 5, &[]));
    assert_eq!(indexer.resource_version().as_deref(), Some("5"));
    indexer.delete("ns/a");
    assert_eq!(indexer.resource_version().as_deref(), Some("5"));
    indexer.bookmark("8");
    assert_eq!(indexer.resource_version().as_deref(), Some("8"));
    indexer.replace([], "10");
    assert_eq!(indexer.resource_version().as_deref(), Some("10"));
}

#[test]
fn a_snapshot_does_not_change_and_readers_do_not_hold_up_the_writer() {
    let indexer = coloured();
    indexer.upsert(object("a", 1, &["red"]));
    let before = indexer.snapshot();
    indexer.upsert(object("b", 2, &["red"]));
    indexer.delete("ns/a");
    assert!(before.get("ns/a").is_some() && before.get("ns/b").is_none());
    assert_eq!(before.index_keys("colour", "red").unwrap().len(), 1);
    assert_eq!(before.resource_version(), Some("1"));
    assert_eq!(keys(&indexer, "red"), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn one_can_wait_for_a_revision() {
    let indexer = Arc::new(Indexer::new());
    let waiting = {
        let indexer = indexer.clone();
        tokio::spawn(async move { indexer.wait_for("10").await })
    };
    indexer.upsert(object("a", 9, &[]));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished());
    indexer.bookmark("11");
    assert_eq!(waiting.await.unwrap(), Ok(()));
    let wrong = indexer.wait_for("x").await;
    assert_eq!(wrong, Err(VersionError::Incomparable("x".to_owned())));
}

#[test]
fn selectors_select_by_labels() {
    let indexer = Indexer::new();
    indexer.replace([object("a", 1, &[]), object("b", 2, &[])], "2");
    let select = |text: &str| {
        indexer
            .snapshot()
            .select(&LabelSelector::parse(text).unwrap())
    };
    assert_eq!(select("app=a").len(), 1);
    assert_eq!(select("app in (a,b)").len(), 2);
    assert_eq!(select("!app").len(), 0);
    assert_eq!(select("").len(), 2);
    assert!(
        indexer
            .snapshot()
            .select(&LabelSelector::nothing())
            .is_empty()
    );
}

#[test]
fn a_typed_index_decodes_and_one_by_owner_does_not() {
    let kind = ObjectKind::new(widgets(), Compression::Lz4);
    let json = json!({"metadata": {"name": "a", "ownerReferences": [
        {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u1"}]}, "n": 7});
    let indexer = Indexer::new();
    indexer.add_index("owner", IndexFn::owner_uid()).unwrap();
    indexer
        .add_index(
            "n",
            IndexFn::typed(|value: &Value| vec![value["n"].to_string()]),
        )
        .unwrap();
    indexer.upsert(
        Ingest::new(kind)
            .object(json.to_string().as_bytes())
            .unwrap(),
    );
    assert_eq!(indexer.by_index("owner", "u1").unwrap().len(), 1);
    assert_eq!(indexer.by_index("n", "7").unwrap().len(), 1);
}

proptest! {
    #[test]
    fn an_index_is_what_a_scan_would_find(steps in prop::collection::vec((0usize..20, prop::collection::vec(0usize..4, 0..3), 0u8..5), 0..200)) {
        const COLOURS: [&str; 4] = ["red", "green", "blue", ""];
        let indexer = coloured();
        for (version, (name, colours, what)) in steps.into_iter().enumerate() {
            let name = format!("o{name}");
            if what == 0 {
                indexer.delete(&format!("ns/{name}"));
            } else {
                let colours: Vec<_> = colours.into_iter().map(|c| COLOURS[c]).collect();
                indexer.upsert(object(&name, version as u32 + 1, &colours));
            }
        }
        let state = indexer.snapshot();
        for colour in COLOURS {
            let mut scan: Vec<_> = state
                .iter()
                .filter(|o| {
                    let json: Value = serde_json::from_slice(&o.json()).unwrap();
                    json["spec"]["colours"].as_array().unwrap().iter().any(|c| c == colour)
                })
                .map(|o| o.key().clone())
                .collect();
            scan.sort();
            prop_assert_eq!(state.index_keys("colour", colour).unwrap(), scan);
        }
        let bytes: usize = state.iter().map(|o| o.stored_bytes()).sum();
        prop_assert_eq!(state.bytes(), bytes);
    }
}
