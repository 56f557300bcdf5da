//! `create webhook`: the files it makes, what is added later, and removal.

use kubewright_scaffold::{
    AddVersion, AddWebhook, Edits, Gvk, PartState, Remove, Webhooks, status,
};

use crate::project::{Directory, refused};

fn webhook(gvk: &str) -> AddWebhook {
    AddWebhook {
        target: Gvk::parse(gvk).unwrap(),
        name: None,
        defaulting: true,
        validation: true,
        conversion: false,
        spokes: Vec::new(),
        force: false,
    }
}

fn remove(kind: &str) -> Remove {
    Remove::Webhook {
        group: String::new(),
        version: String::new(),
        kind: kind.into(),
    }
}

#[test]
fn webhooks_of_a_kind_are_registered_recorded_and_removed() {
    let directory = Directory::with_captain();
    let before = directory.everything();
    directory.write(webhook("crew/v1/Captain").plan(&directory.open()));
    assert_eq!(
        directory.read("src/webhook/captain.rs"),
        include_str!("expected/captain_webhook.rs.txt")
    );
    assert_eq!(
        directory.read("tests/captain_webhook.rs"),
        include_str!("expected/captain_webhook_test.rs.txt")
    );
    let library = directory.read("src/lib.rs");
    assert!(library.contains("pub mod webhook;\n"), "{library}");
    assert!(library.contains("    webhook::captain::register(operator);\n"));
    assert_eq!(
        directory.open().resources[0].webhooks,
        Webhooks {
            name: "captain".into(),
            defaulting: true,
            validation: true,
            ..Webhooks::default()
        }
    );
    let recorded = "webhooks = { name = \"captain\", defaulting = true, validation = true }";
    assert!(directory.read("operator.toml").contains(recorded));
    let states = status(&directory.open()).unwrap();
    assert!(
        states.iter().all(|part| part.state == PartState::New),
        "{states:?}"
    );
    directory.write(remove("Captain").plan(&directory.open(), Edits::Keep));
    assert_eq!(directory.everything(), before);
}

#[test]
fn a_webhook_that_is_added_later_goes_into_the_same_file() {
    let directory = Directory::with_captain();
    let mut first = webhook("crew/v1/Captain");
    first.validation = false;
    directory.write(first.plan(&directory.open()));
    let mut second = webhook("crew/v1/Captain");
    second.defaulting = false;

    // An untouched file becomes what both at once make.
    directory.write(second.plan(&directory.open()));
    let both = directory.read("src/webhook/captain.rs");
    assert_eq!(both, include_str!("expected/captain_webhook.rs.txt"));

    // An edited one keeps its edits.
    let directory = Directory::with_captain();
    directory.write(first.plan(&directory.open()));
    let path = "src/webhook/captain.rs";
    let edited = directory
        .read(path)
        .replace("// Your code goes here.", "// Mine.");
    std::fs::write(directory.path(path), edited).unwrap();
    directory.write(second.plan(&directory.open()));
    let source = directory.read(path);
    assert!(source.contains("// Mine."), "{source}");
    assert!(
        source.contains("    operator.validator(CaptainValidator);\n}"),
        "{source}"
    );
    assert!(source.contains("impl Validator<Captain> for CaptainValidator {"));
    assert_eq!(
        refused(&directory, |project| second.plan(project)),
        "Captain has a validating webhook already; replace it with --force"
    );
    assert!(
        remove("Captain")
            .plan(&directory.open(), Edits::Keep)
            .unwrap_err()
            .to_string()
            .starts_with("src/webhook/captain.rs has work in it;")
    );
}

#[test]
fn a_built_in_kind_can_have_webhooks() {
    let directory = Directory::with_captain();
    let before = directory.everything();
    let mut pods = webhook("v1/Pod");
    pods.defaulting = false;
    directory.write(pods.plan(&directory.open()));
    let source = directory.read("src/webhook/pod.rs");
    assert!(
        source.contains("use k8s_openapi::api::core::v1::Pod;"),
        "{source}"
    );
    let test = directory.read("tests/pod_webhook.rs");
    assert!(
        test.contains("use crew_operator::webhook::pod::PodValidator;"),
        "{test}"
    );
    directory.write(remove("Pod").plan(&directory.open(), Edits::Keep));
    assert_eq!(directory.everything(), before);
}

#[test]
fn conversion_is_between_the_hub_and_other_versions() {
    let directory = Directory::with_captain();
    let mut conversion = webhook("crew/v1/Captain");
    (conversion.defaulting, conversion.validation) = (false, false);
    conversion.conversion = true;
    assert_eq!(
        refused(&directory, |project| conversion.plan(project)),
        "v1 is the only version of Captain; add another with `kubewright add version`, which makes the conversion too"
    );
    let add = AddVersion {
        group: "crew".into(),
        kind: "Captain".into(),
        version: "v2".into(),
        from: "v1".into(),
        storage: true,
    };
    directory.write(add.plan(&directory.open()));
    directory.write(conversion.plan(&directory.open()));
    let project = directory.open();
    assert_eq!(project.resources[0].webhooks.spokes, ["v2"]);
    // The hub is the version that is stored.
    let types = directory.read("src/api/crew/v2/captain.rs");
    assert!(types.contains("storage = false,"), "{types}");
    assert!(
        directory
            .read("operator.toml")
            .contains("conversion = true, spoke = [\"v2\"]")
    );
    conversion.spokes = vec!["v3".into()];
    assert_eq!(
        refused(&directory, |project| conversion.plan(project)),
        "Captain has no other version \"v3\"; add it with `kubewright add version`"
    );
}

#[test]
fn bad_input_is_refused() {
    let directory = Directory::with_captain();
    let mut nothing = webhook("crew/v1/Captain");
    (nothing.defaulting, nothing.validation) = (false, false);
    assert_eq!(
        refused(&directory, |project| nothing.plan(project)),
        "there is no webhook to create; use at least one of --defaulting, --programmatic-validation and --conversion"
    );
    let mut built_in = webhook("v1/Pod");
    built_in.conversion = true;
    assert!(
        refused(&directory, |project| built_in.plan(project))
            .starts_with("Pod is built into Kubernetes;")
    );
    assert!(
        refused(&directory, |project| webhook("crew/v1/Mate").plan(project))
            .starts_with("crew/v1/Mate is neither a kind of this project nor a built-in one;")
    );
    let removed = remove("Captain").plan(&directory.open(), Edits::Keep);
    assert_eq!(
        removed.unwrap_err().to_string(),
        "Captain has no webhooks; look at what there is with `kubewright list`"
    );
}
