//! Programs with one mistake each, and the perturbation that finds it.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright_controller::{
    Action, Context, Controller, Filter, Manager, ManagerBuilder, ManagerError, Request, Result,
    create_or_update,
};
use kubewright_testing::{Moment, Perturbation, Report, State, World, perturb};
use serde_json::json;

use super::{create, delete, ignore_missing, put};

/// Returns the failures except for the requested one.
fn found(report: &Report, class: &str) -> Vec<Perturbation> {
    assert!(
        report
            .failures
            .iter()
            .all(|failure| failure.perturbation.is_some()),
        "it fails undisturbed: {report}"
    );
    let found: Vec<_> = report
        .failures
        .iter()
        .filter_map(|failure| failure.perturbation)
        .filter(|p| format!("{p:?}").starts_with(class))
        .collect();
    assert!(!found.is_empty(), "no {class} found it: {report}");
    found
}

async fn secret_of(context: &Context, map: &ConfigMap) -> Result<Secret, kube::Error> {
    let mut secret = Secret::default();
    secret.metadata.generate_name = Some(format!("{}-", map.name_any()));
    secret.metadata.labels = Some([("for".into(), map.name_any())].into());
    let secrets = context.client().api::<Secret>("default");
    secrets.create(&PostParams::default(), &secret).await
}

/// Creates an object, and records that afterwards.
async fn creates_then_records(context: Context, request: Request) -> Result<Action> {
    let Some(map) = context.get::<ConfigMap>(&request).await? else {
        return Ok(Action::done());
    };
    if map.annotations().contains_key("secret") || map.name_any().starts_with("kube") {
        return Ok(Action::done());
    }
    let secret = secret_of(&context, &map).await?;
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"secret": secret.name_any()}}}));
    let maps = context.client().api::<ConfigMap>("default");
    maps.patch(request.name(), &PatchParams::default(), &patch)
        .await?;
    Ok(Action::done())
}

#[test]
fn a_crash_reveals_creation_before_recording() {
    let program = |manager: ManagerBuilder| {
        let manager = manager.build()?;
        Controller::for_::<ConfigMap>().build(&manager, creates_then_records)?;
        Ok(manager)
    };
    let story = |world: World| async move { create(&world, "apples").await };
    let report = perturb(program, story).explore();
    let crashes = found(&report, "Crash");
    assert_eq!(crashes, [Perturbation::Crash { after_write: 1 }]);
    let text = report.to_string();
    assert!(
        text.contains("secrets default/apples-*: 2 of them instead of 1"),
        "{text}"
    );
    assert!(
        text.contains(".only(Perturbation::Crash { after_write: 1 })"),
        "{text}"
    );
    // It also fails if only this perturbation is tried.
    let again = perturb(program, story).only(crashes[0]).explore();
    assert_eq!(again.failures.len(), 1);
    assert!(again.survived.is_empty());
}

#[test]
fn results_are_saved_with_both_timelines() {
    let program = |manager: ManagerBuilder| {
        let manager = manager.build()?;
        Controller::for_::<ConfigMap>().build(&manager, creates_then_records)?;
        Ok(manager)
    };
    let story = |world: World| async move { create(&world, "apples").await };
    let name = format!("saved-{}/crash.json", std::process::id());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let crash = Perturbation::Crash { after_write: 1 };
    let down = Perturbation::Down { step: 0 };
    let tried = perturb(program, story).only(crash).only(down);
    tried.save(&path).explore();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&text).unwrap();
    let results = saved["results"].as_array().unwrap();
    let outcomes: Vec<_> = results.iter().map(|it| it["outcome"].clone()).collect();
    assert_eq!(outcomes, ["failed", "survived"], "{text}");
    let timelines = results[0]["timelines"].as_array().unwrap();
    let of_secrets = |both: &&serde_json::Value| {
        let object = both["object"].as_str().unwrap();
        object.starts_with("secrets default/apples-")
    };
    // One of the undisturbed run, and two of the other.
    assert_eq!(timelines.iter().filter(of_secrets).count(), 3, "{text}");
    assert!(text.contains(": created"), "{text}");
}

/// Cleans up on the event of a deletion.
async fn cleans_up_on_events(context: Context, request: Request) -> Result<Action> {
    let secrets = context.client().api::<Secret>("default");
    if context.get::<ConfigMap>(&request).await?.is_none() {
        ignore_missing(
            secrets
                .delete(request.name(), &DeleteParams::default())
                .await,
        )?;
        return Ok(Action::done());
    }
    let mut secret = Secret::default();
    secret.metadata.name = Some(request.name().to_owned());
    create_or_update(&secrets, secret, |_| {}).await?;
    Ok(Action::done())
}

#[test]
fn downtime_reveals_reliance_on_deletion_events() {
    let program = |manager: ManagerBuilder| {
        let manager = manager.build()?;
        Controller::for_::<ConfigMap>().build(&manager, cleans_up_on_events)?;
        Ok(manager)
    };
    let story = |world: World| async move {
        create(&world, "apples").await;
        world.pause().await;
        delete(&world, "apples").await;
    };
    let report = perturb(program, story).explore();
    assert_eq!(found(&report, "Down"), [Perturbation::Down { step: 1 }]);
    assert!(
        report
            .to_string()
            .contains("secrets default/apples is unexpected")
    );
}

/// Creates an object that the cache does not show, without waiting for the cache.
fn trusts_the_cache(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
    let manager = manager.read_your_writes(false).build()?;
    let reconcile = |context: Context, request: Request| async move {
        let Some(map) = context.get::<ConfigMap>(&request).await? else {
            return Ok(Action::done());
        };
        let secrets = context.client().list::<Secret>(&Filter::new()).await?;
        let mine =
            |secret: &std::sync::Arc<Secret>| secret.labels().get("for") == Some(&map.name_any());
        if !secrets.iter().any(mine) {
            secret_of(&context, &map).await?;
        }
        Ok(Action::done())
    };
    Controller::for_::<ConfigMap>().build(&manager, reconcile)?;
    Ok(manager)
}

#[test]
fn a_stale_cache_reveals_duplicate_creation() {
    let report = perturb(trusts_the_cache, |world| async move {
        create(&world, "apples").await;
        world.pause().await;
        for count in ["1", "2", "3"] {
            put(&world, "apples", "count", count).await;
            world.pause().await;
        }
    })
    .explore();
    found(&report, "StaleCache");
}

/// Requires each intermediate state to be seen.
async fn requires_paid_state(context: Context, request: Request) -> Result<Action> {
    let Some(map) = context.get::<ConfigMap>(&request).await? else {
        return Ok(Action::done());
    };
    let state = map.data.as_ref().and_then(|data| data.get("state"));
    if state.is_some_and(|state| state == "paid") {
        let secrets = context.client().api::<Secret>("default");
        let mut receipt = Secret::default();
        receipt.metadata.name = Some(format!("{}-receipt", request.name()));
        create_or_update(&secrets, receipt, |_| {}).await?;
    }
    Ok(Action::done())
}

#[test]
fn a_skipped_state_reveals_reliance_on_intermediate_states() {
    let program = |manager: ManagerBuilder| {
        let manager = manager.build()?;
        Controller::for_::<ConfigMap>().build(&manager, requires_paid_state)?;
        Ok(manager)
    };
    let report = perturb(program, |world| async move {
        create(&world, "order").await;
        world.pause().await;
        put(&world, "order", "state", "paid").await;
        world.pause().await;
        put(&world, "order", "state", "shipped").await;
    })
    .explore();
    assert_eq!(
        found(&report, "Skipped"),
        [Perturbation::Skipped { step: 1 }]
    );
    assert!(
        report
            .to_string()
            .contains("secrets default/order-receipt is missing")
    );
}

/// Writes in the background, with a client that is not fenced.
fn writes_in_the_background(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
    let manager = manager.build()?;
    let unguarded = manager.client().clone();
    let reconcile = move |context: Context, request: Request| {
        let unguarded = unguarded.clone();
        async move {
            if context.get::<ConfigMap>(&request).await?.is_none() {
                return Ok(Action::done());
            }
            let mut secret = Secret::default();
            secret.metadata.name = Some(request.name().to_owned());
            let name = request.name().to_owned();
            let secrets = context.client().api::<Secret>("default");
            create_or_update(&secrets, secret, |_| {}).await?;
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(60)).await;
                let patch = Patch::Merge(json!({"metadata": {"labels": {"late": "yes"}}}));
                let secrets = unguarded.api::<Secret>("default");
                let _ = secrets.patch(&name, &PatchParams::default(), &patch).await;
            });
            std::future::ready(()).await;
            Ok(Action::done())
        }
    };
    Controller::for_::<ConfigMap>().build(&manager, reconcile)?;
    Ok(manager)
}

#[test]
fn a_lost_lease_reveals_unfenced_writes() {
    let report = perturb(writes_in_the_background, |world| async move {
        create(&world, "apples").await;
        world.pause().await;
        create(&world, "pears").await;
    })
    .explore();
    found(&report, "LeaseLost");
    let text = report.to_string();
    assert!(
        text.contains("a program wrote after it had lost its lease: PATCH "),
        "{text}"
    );
}

/// Never becomes idle: two controllers undo each other's work.
fn fights_itself(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
    let manager = manager.build()?;
    for wanted in ["left", "right"] {
        let reconcile = move |context: Context, request: Request| async move {
            let patch = Patch::Merge(json!({"data": {"turn": wanted}}));
            let maps = context.client().api::<ConfigMap>("default");
            maps.patch(request.name(), &PatchParams::default(), &patch)
                .await?;
            Ok(Action::done())
        };
        Controller::for_::<ConfigMap>()
            .named(wanted)
            .build(&manager, reconcile)?;
    }
    Ok(manager)
}

#[test]
fn a_program_that_never_settles_fails() {
    let report = perturb(fights_itself, |world| async move {
        create(&world, "rope").await;
    })
    .most_writes(200)
    .explore();
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].perturbation, None);
    let reason = &report.failures[0].reason;
    assert!(
        reason.contains(" writes forever: PATCH /api/v1/namespaces/default/configmaps/rope "),
        "{report}"
    );
}

/// Creates a Secret for every ConfigMap, and then deletes all but one.
async fn creates_too_many(context: Context, request: Request) -> Result<Action> {
    let Some(map) = context.get::<ConfigMap>(&request).await? else {
        return Ok(Action::done());
    };
    if map.name_any().starts_with("kube") {
        return Ok(Action::done());
    }
    let secrets = context.client().api::<Secret>("default");
    for name in ["first", "second"] {
        let mut secret = Secret::default();
        secret.metadata.name = Some(name.into());
        let created = secrets.create(&PostParams::default(), &secret).await;
        if let Err(error) = created
            && !matches!(&error, kube::Error::Api(status) if status.code == 409)
        {
            return Err(error.into());
        }
    }
    let deleted = secrets.delete("second", &DeleteParams::default()).await;
    ignore_missing(deleted)?;
    Ok(Action::done())
}

#[test]
fn what_is_wrong_for_a_moment_is_found() {
    let program = |manager: ManagerBuilder| -> Result<Manager, ManagerError> {
        let manager = manager.build()?;
        Controller::for_::<ConfigMap>().build(&manager, creates_too_many)?;
        Ok(manager)
    };
    let story = |world: World| async move {
        create(&world, "apples").await;
        world.pause().await;
    };
    let few = |count: usize| match count {
        0 | 1 => Ok(()),
        count => Err(format!("there are {count} secrets")),
    };
    let only = Perturbation::Down { step: 0 };
    // At the end there is one.
    let report = perturb(program, story)
        .only(only)
        .invariant("one secret", move |state: &State| {
            few(state.of("secrets").count())
        })
        .explore();
    assert!(report.is_success(), "{report}");
    let report = perturb(program, story)
        .only(only)
        .always("one secret", ["secrets"], move |moment: &Moment| {
            few(moment.of("secrets").count())
        })
        .explore();
    let text = report.to_string();
    let found = "one secret: there are 2 secrets, after secrets default/second was created";
    assert!(text.contains(found), "{text}");
}
