//! Comparison with recordings of kube-controller-manager 1.36.3: `tests/recorded/*.json` hold the steps of a story, and
//! the states of every ConfigMap and of the namespace, as seen by a watch.
//!
//! With `KUBEWRIGHT_TEST_CONTROLLER_MANAGER` set to the kubeconfig of a cluster with kube-controller-manager, the
//! stories are played there instead; with `KUBEWRIGHT_RECORD` set too, the outcome is recorded. Uids are written
//! `$name`, and the namespace of the story `$namespace`.

mod facts;
mod story;

use std::path::Path;

use serde_json::Value;

use story::Story;

/// Plays a story, and compares the outcome with the recorded one.
async fn tell(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/recorded")
        .join(name)
        .with_extension("json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let mut story = Story::begin().await;
    for step in document["steps"].as_array().unwrap() {
        story.step(step).await;
    }
    let recording = std::env::var_os("KUBEWRIGHT_RECORD").is_some() && story.is_elsewhere();
    let facts = story.end().await;
    if recording {
        document["facts"] = facts;
        let text = serde_json::to_string_pretty(&document).unwrap();
        std::fs::write(&path, text + "\n").unwrap();
        return;
    }
    let recorded = &document["facts"];
    for key in ["namespace", "maps", "events"] {
        assert_eq!(
            facts[key], recorded[key],
            "{name}, {key}: left is what happened, right what was recorded"
        );
    }
}

/// A test for each story.
macro_rules! stories {
    ($($test:ident: $name:literal,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            tell($name).await;
        }
    )*};
}

stories! {
    a_namespace_says_what_holds_it: "namespace_held",
    a_namespace_goes_when_it_is_released: "namespace_released",
    a_namespace_waits_for_its_pods: "namespace_with_a_pod",
    a_namespace_keeps_a_finalizer_of_its_own: "namespace_with_a_finalizer_of_its_own",
    dependents_follow_in_the_background: "background",
    an_owner_waits_in_the_foreground: "foreground",
    orphans_lose_their_reference: "orphan",
    one_of_two_owners_goes: "two_owners",
    a_circle_goes: "circle",
    dependents_orphan_and_wait_for_their_own: "dependents_with_finalizers_of_the_collector",
    an_owner_in_another_namespace_is_no_owner: "owner_in_another_namespace",
    an_owner_of_another_kind_is_no_owner: "owner_of_another_kind",
    an_owner_of_another_name_is_no_owner: "owner_of_another_name",
    an_owner_of_an_unknown_kind_is_waited_for: "owner_of_an_unknown_kind",
}
