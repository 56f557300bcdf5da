//! A program that survives all perturbations.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt, api::DeleteParams};
use kubewright_controller::{
    Action, Context, Controller, Manager, ManagerBuilder, ManagerError, Request, Result,
    create_or_update,
    finalizer::{FinalizerFn, Finalizers},
};
use kubewright_testing::{Perturbation, perturb};

use super::{come_and_go, create, ignore_missing};

/// Keeps a Secret for every ConfigMap, and removes it with a finalizer.
fn mirror(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
    let manager = manager.build()?;
    Controller::for_::<ConfigMap>()
        .max_concurrent_reconciles(2)
        .build(&manager, mirror_one)?;
    Ok(manager)
}

async fn mirror_one(context: Context, request: Request) -> Result<Action> {
    let Some(map) = context.get::<ConfigMap>(&request).await? else {
        return Ok(Action::done());
    };
    let client = context.client();
    let maps = client.api::<ConfigMap>("default");
    let secrets = client.api::<Secret>("default");
    let (mut finalizers, gone) = (Finalizers::new(), secrets.clone());
    let remove = FinalizerFn(move |map: ConfigMap| {
        let secrets = gone.clone();
        async move {
            Ok(ignore_missing(
                secrets
                    .delete(&map.name_any(), &DeleteParams::default())
                    .await,
            )?)
        }
    });
    finalizers.register("test/mirror", remove)?;
    let finalized = finalizers.reconcile(&maps, &map).await?;
    let living = |map: &ConfigMap| map.metadata.deletion_timestamp.is_none();
    let Some(map) = finalized.object.filter(living) else {
        return Ok(Action::done());
    };
    let mut secret = Secret::default();
    secret.metadata.name = map.metadata.name.clone();
    create_or_update(&secrets, secret, |secret| {
        secret.string_data = map.data.clone();
    })
    .await?;
    Ok(Action::done())
}

#[test]
fn a_sound_program_survives_every_perturbation() {
    let report = perturb(mirror, come_and_go)
        .invariant("one secret for each map", |state| {
            let maps = state.of("configmaps").count();
            let secrets = state.of("secrets").count();
            (maps == secrets)
                .then_some(())
                .ok_or_else(|| format!("{secrets} secrets, {maps} maps"))
        })
        .run();
    assert!(report.writes >= 6, "{report}");
    assert_eq!(report.steps, 4);
    // Every kind of perturbation was tried, and took effect.
    for class in ["Crash", "Down", "StaleCache", "Skipped", "LeaseLost"] {
        let of_class = |p: &&Perturbation| format!("{p:?}").starts_with(class);
        assert!(report.survived.iter().any(|p| of_class(&p)), "{class}");
    }
    assert!(report.missed.is_empty(), "{:?}", report.missed);
}

#[test]
fn a_story_may_rely_on_the_program_after_settled() {
    perturb(mirror, |world| async move {
        create(&world, "apples").await;
        world.settled().await;
        let secrets: Api<Secret> = Api::default_namespaced(world.client());
        secrets.get("apples").await.unwrap();
        // An object that another client removes is recreated when its map changes.
        let removed = secrets.delete("apples", &DeleteParams::default()).await;
        removed.unwrap();
        super::put(&world, "apples", "count", "1").await;
        world.settled().await;
        secrets.get("apples").await.unwrap();
    })
    .run();
}

#[test]
fn invariants_are_checked_in_the_undisturbed_run() {
    let report = perturb(mirror, come_and_go)
        .invariant("no secrets", |state| {
            let secrets = state.of("secrets").count();
            (secrets == 0).then_some(()).ok_or(format!("{secrets}"))
        })
        .explore();
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].perturbation, None);
    assert_eq!(report.failures[0].reason, "no secrets: 1");
}

#[test]
fn nondeterministic_programs_are_detected() {
    // Each run of the program writes a different value.
    let runs = Arc::new(AtomicUsize::new(0));
    let program = move |manager: ManagerBuilder| {
        let manager = manager.build()?;
        let run = runs.fetch_add(1, Ordering::SeqCst).to_string();
        Controller::for_::<ConfigMap>().build(
            &manager,
            move |context: Context, request: Request| {
                let run = run.clone();
                async move {
                    let secrets = context.client().api::<Secret>("default");
                    let mut secret = Secret::default();
                    secret.metadata.name = Some(request.name().to_owned());
                    create_or_update(&secrets, secret, |secret| {
                        let data = secret.string_data.get_or_insert_default();
                        data.insert("run".into(), run.clone());
                    })
                    .await?;
                    Ok(Action::done())
                }
            },
        )?;
        Ok(manager)
    };
    let report = perturb(program, |world| async move { create(&world, "m").await }).explore();
    assert_eq!(report.failures[0].perturbation, None);
    let reason = &report.failures[0].reason;
    assert!(
        reason.contains("two undisturbed runs have different outcomes"),
        "{reason}"
    );
}
