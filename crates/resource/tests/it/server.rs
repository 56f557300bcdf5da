//! The native verdict is that of the server: for generated objects, right and wrong.

use http::{Method, Request};
use kubewright::{
    CustomKind, Generator,
    generate::{Rng, mutate},
};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::{
    captain::Captain,
    golden::kinds::{
        choices::Choices, defaults::Defaults, lists::Lists, names::Names, numbers::Numbers,
        objects::Objects, rules::Rules, texts::Texts,
    },
};

/// Objects that are tried of every kind.
const CASES: u64 = 60;

/// Sends a request. The error is the message of the server.
async fn send(
    client: &kube::Client,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, String> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", "application/json")
        .body(body.to_string().into_bytes())
        .expect("a request");
    match client.request::<Value>(request).await {
        Ok(answer) => Ok(answer),
        Err(kube::Error::Api(status)) => Err(status.message),
        Err(other) => panic!("no answer: {other}"),
    }
}

/// The message, if something is wrong.
fn message(verdict: Result<Value, kubewright_machinery::Status>) -> Option<String> {
    verdict.err().map(|status| status.message)
}

async fn install<K: CustomKind>(client: &kube::Client) -> String {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let created = send(client, Method::POST, path, &K::manifest()).await;
    created.expect("the server takes the definition");
    let scope = match K::manifest()["spec"]["scope"] == "Namespaced" {
        true => "namespaces/default/",
        false => "",
    };
    format!("/apis/{}/{scope}{}", K::api_version(&()), K::plural(&()))
}

/// Creates, updates, and writes the status of objects on a server, and asks the judge the same.
async fn agrees<K: CustomKind>() {
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    let path = install::<K>(&client).await;
    let generator = Generator::of::<K>();
    let has_status = !K::manifest()["spec"]["versions"][0]["subresources"]["status"].is_null();
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::new(seed);
        let mut object = generator.object(&mut rng).expect("there are valid ones");
        let name = format!("object-{seed}");
        object["metadata"]["name"] = json!(name);

        let mut wrong = object.clone();
        for _ in 0..=rng.below(2) {
            mutate(&mut wrong, &mut rng);
        }
        let theirs = send(&client, Method::POST, &format!("{path}?dryRun=All"), &wrong).await;
        let ours = message(K::judge().create(&wrong));
        assert_eq!(ours, theirs.clone().err(), "create, seed {seed}: {wrong}");
        match theirs {
            Ok(_) => taken += 1,
            Err(_) => refused += 1,
        }

        let stored = send(&client, Method::POST, &path, &object).await;
        let stored = stored.unwrap_or_else(|e| panic!("valid, seed {seed}: {e}: {object}"));
        let ours = K::judge().create(&object).expect("valid");
        assert_eq!(ours["spec"], stored["spec"], "as it is stored, seed {seed}");

        let mut changed = match rng.one_in(2) {
            true => generator.object(&mut rng).expect("there are valid ones"),
            false => stored.clone(),
        };
        mutate(&mut changed, &mut rng);
        changed["metadata"] = stored["metadata"].clone();
        let own = format!("{path}/{name}");
        let theirs = send(&client, Method::PUT, &format!("{own}?dryRun=All"), &changed).await;
        let ours = message(K::judge().update(&changed, &stored));
        assert_eq!(
            ours,
            theirs.err(),
            "update, seed {seed}: {changed} for {stored}"
        );

        if has_status {
            let mut changed = stored.clone();
            changed["status"] = object["status"].clone();
            mutate(&mut changed, &mut rng);
            let own = format!("{own}/status?dryRun=All");
            let theirs = send(&client, Method::PUT, &own, &changed).await;
            let ours = message(K::judge().update_status(&changed, &stored));
            assert_eq!(ours, theirs.err(), "status, seed {seed}: {changed}");
        }
    }
    assert!(refused > 0, "nothing was refused, so nothing was compared");
    assert!(taken > 0, "nothing was taken, so nothing was compared");
}

macro_rules! agreements {
    ($($test:ident: $kind:ty;)+) => {$(
        #[tokio::test]
        async fn $test() {
            agrees::<$kind>().await;
        }
    )+};
}

agreements! {
    captains_are_judged_as_by_the_server: Captain;
    numbers_are_judged_as_by_the_server: Numbers;
    texts_are_judged_as_by_the_server: Texts;
    lists_are_judged_as_by_the_server: Lists;
    defaults_are_judged_as_by_the_server: Defaults;
    rules_are_judged_as_by_the_server: Rules;
    choices_are_judged_as_by_the_server: Choices;
    objects_are_judged_as_by_the_server: Objects;
    scaled_kinds_are_judged_as_by_the_server: Names;
}
