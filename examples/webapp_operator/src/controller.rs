//! The controller of `WebApp`.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret, Service},
    networking::v1::Ingress,
};
use kube::ResourceExt;
use kubewright::{metrics::CounterVec, prelude::*};

use crate::{Flags, api::v1::WebApp, dns::Dns, objects};

/// The time that an app may take to become ready.
const DEADLINE: Duration = Duration::from_secs(600);

/// The state that all reconciles share.
struct State {
    flags: Flags,
    dns: Dns,
    changes: CounterVec<1>,
}

type Ctx = Context<WebApp, State>;

/// Registers the controller: its watches, its state, and a metric of its own.
pub fn register(operator: &mut Operator, flags: Flags, dns: Dns) {
    let help = "Number of changed DNS records, by namespace.";
    let changes = CounterVec::new("webapp_dns_changes_total", help, ["namespace"]);
    let metric = changes.clone();
    let controller = Controller::for_::<WebApp>()
        .owns::<Deployment>()
        .owns::<Service>()
        .owns::<Ingress>()
        .owns::<ConfigMap>()
        .references::<WebApp, Secret>(|app| app.spec.secret.clone().into_iter().collect())
        .state(State {
            flags,
            dns,
            changes,
        });
    operator
        .setup(|manager| {
            manager.registry().register(metric);
            Ok(())
        })
        .controller(controller, reconcile);
}

/// Brings the cluster to the state that the spec of a `WebApp` describes.
async fn reconcile(ctx: Ctx, app: Arc<WebApp>) -> Result<Action> {
    let cleanup = async |app: Arc<WebApp>| set_dns(&ctx, &app, None).await;
    ctx.finalize("apps.example.com/dns", cleanup).await?;

    let mut secret = None;
    if let Some(name) = &app.spec.secret {
        let namespace = app.namespace().unwrap_or_default();
        secret = ctx.client().get::<Secret>(&namespace, name).await?;
    }
    ctx.apply_owned(objects::config_map(&app)?).await?;
    ctx.apply_owned(objects::service(&app)?).await?;
    let deployment = objects::deployment(&app, secret.as_deref())?;
    let deployment = ctx.apply_owned(deployment).await?;
    match &app.spec.host {
        Some(host) => {
            let ingress = objects::ingress(&app, host, &ctx.state().flags.ingress_class)?;
            ctx.apply_owned(ingress).await?;
        }
        None => _ = ctx.delete_owned::<Ingress>(&app.name_any()).await?,
    }
    set_dns(&ctx, &app, app.spec.host.as_deref()).await?;

    let status = deployment.status.unwrap_or_default();
    let ready = status.ready_replicas.unwrap_or(0);
    let left = time_left(&ctx, &app);
    let reason = if app.spec.secret.is_some() && secret.is_none() {
        "SecretMissing"
    } else if ready >= app.spec.replicas {
        "Available"
    } else if left.is_zero() {
        "DeadlineExceeded"
    } else {
        "Progressing"
    };
    let message = format!("{ready} of {} replicas are ready", app.spec.replicas);
    report(&ctx, ready, reason, &message).await?;
    Ok(Action::requeue_if(reason == "Progressing", left))
}

/// Sets or removes the DNS record of an app.
async fn set_dns(ctx: &Ctx, app: &WebApp, host: Option<&str>) -> Result<()> {
    let namespace = app.namespace().unwrap_or_default();
    let record = format!("{namespace}/{}", app.name_any());
    if ctx.state().dns.set(&record, host).await? {
        ctx.state().changes.with([&namespace]).inc();
    }
    Ok(())
}

/// Writes the status, and records an event if that changed it.
async fn report(ctx: &Ctx, ready: i32, reason: &str, message: &str) -> Result<()> {
    let condition = ctx.condition("Ready", reason == "Available", reason, message);
    let host = ctx.object().spec.host.clone();
    let changed = ctx.status(|status| {
        status.ready_replicas = ready;
        status.url = host.as_ref().map(|host| format!("http://{host}"));
        status.conditions.set(&condition);
    });
    if changed.await? {
        let type_ = match reason {
            "Available" | "Progressing" => EventType::Normal,
            _ => EventType::Warning,
        };
        ctx.event(type_, reason, message);
    }
    Ok(())
}

/// Returns the time that the app still has to become ready.
fn time_left(ctx: &Ctx, app: &WebApp) -> Duration {
    let status = app.status.clone().unwrap_or_default();
    let ready = status.conditions.find("Ready");
    let unready = ready.filter(|ready| ready.status != "True");
    let since = unready.map_or(ctx.now(), |ready| ready.last_transition_time.0);
    let waited = Duration::try_from(ctx.now().duration_since(since)).unwrap_or_default();
    DEADLINE.saturating_sub(waited)
}
