//! An operator from its author's perspective: objects, finalizers, status, events, state, and watches by index.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        core::v1::{ConfigMap, Secret},
        events::v1::Event,
    },
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{Api, CustomResource, ResourceExt, api::Patch};
use kubewright::Schema;
use kubewright_controller::{
    Action, Client, Context, Controller, Error, ErrorExt, Filter, Group, Manager, Predicate,
    Request, Result, conditions::ConditionsExt, events::EventType,
};
use kubewright_metrics::CounterVec;
use kubewright_operator::Operator;
use kubewright_testing::TestCluster;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The desired state of a Shop.
#[derive(CustomResource, Schema, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(group = "example.com", version = "v1", kind = "Shop", namespaced)]
#[kube(status = "ShopStatus")]
struct ShopSpec {
    /// The name of a Secret in the same namespace.
    #[serde(default)]
    secret: String,
    #[serde(default)]
    goods: std::collections::BTreeMap<String, String>,
}

/// The observed state of a Shop.
#[derive(Schema, Clone, Debug, Default, Serialize, Deserialize)]
struct ShopStatus {
    #[serde(default)]
    runs: i64,
    #[serde(default)]
    conditions: Vec<Condition>,
}

type Log = Arc<Mutex<Vec<String>>>;

fn shop(name: &str, secret: &str) -> Shop {
    let spec = ShopSpec {
        secret: secret.to_owned(),
        goods: [("apples".to_owned(), "3".to_owned())].into(),
    };
    Shop::new(name, spec)
}

fn api<K: kubewright_controller::Object<Scope = kube::core::NamespaceResourceScope>>(
    cluster: &TestCluster,
) -> Api<K> {
    Api::default_namespaced(cluster.client())
}

/// Keeps a ConfigMap for each Shop, and logs its clean-up.
async fn keep(ctx: Context<Shop, Log>, shop: Arc<Shop>) -> Result<Action> {
    let log = ctx.state();
    let signs = ctx.finalize("example.com/sign", async |shop| {
        log.lock().push(format!("took down {}", shop.name_any()));
        Ok(())
    });
    signs.await?;
    log.lock().push(format!("keep {}", shop.name_any()));
    let mut map = ConfigMap {
        data: Some(shop.spec.goods.clone()),
        ..ConfigMap::default()
    };
    map.metadata.name = Some(shop.name_any());
    ctx.apply_owned(map).await?;
    let ready = ctx.condition("Ready", true, "Stocked", "all goods are there");
    let changed = ctx.status(|status| {
        status.conditions.set(&ready);
    });
    if changed.await? {
        ctx.event(EventType::Normal, "Opened", "the shop is open");
    }
    Ok(Action::done())
}

fn keeper(log: &Log) -> Operator {
    let log = log.clone();
    Operator::new("keeper", move |operator| {
        let builder = Controller::for_::<Shop>().owns::<ConfigMap>();
        operator
            .api::<Shop>()
            .controller(builder.state(Log::clone(&log)), keep);
    })
}

#[tokio::test(start_paused = true)]
async fn objects_are_applied_finalized_and_collected() {
    let log = Log::default();
    let cluster = keeper(&log).start_test().await.unwrap();
    let (shops, maps) = (api::<Shop>(&cluster), api::<ConfigMap>(&cluster));
    shops
        .create(&Default::default(), &shop("web", ""))
        .await
        .unwrap();
    cluster.settled().await.unwrap();

    let stored = shops.get("web").await.unwrap();
    assert_eq!(stored.finalizers(), ["example.com/sign"]);
    let ready = &stored.status.unwrap().conditions[0];
    assert_eq!(
        (ready.type_.as_str(), ready.status.as_str()),
        ("Ready", "True")
    );
    assert_eq!(ready.observed_generation, Some(1));
    let map = maps.get("web").await.unwrap();
    assert_eq!(map.data.unwrap()["apples"], "3");
    let owner = &map.metadata.owner_references.unwrap()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.controller),
        ("Shop", Some(true))
    );
    let managed = map.metadata.managed_fields.unwrap();
    assert_eq!(managed[0].manager.as_deref(), Some("keeper"));
    let events = api::<Event>(&cluster)
        .list(&Default::default())
        .await
        .unwrap();
    assert_eq!(events.items[0].reason.as_deref(), Some("Opened"));
    assert_eq!(events.items.len(), 1);

    // Nothing is written if nothing has changed.
    let before = cluster.revision().await;
    let controller = cluster.manager().controller("shop").unwrap();
    controller.trigger(Request::new("default", "web"));
    cluster.settled().await.unwrap();
    assert_eq!(cluster.revision().await, before);

    log.lock().clear();
    shops.delete("web", &Default::default()).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(shops.get_opt("web").await.unwrap().is_none());
    assert!(maps.get_opt("web").await.unwrap().is_none());
    assert_eq!(
        *log.lock(),
        ["took down web"],
        "nothing else is done about it"
    );
    cluster.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_failed_cleanup_is_retried_and_keeps_the_object() {
    let tries = Log::default();
    let counted = tries.clone();
    let operator = Operator::new("keeper", move |operator| {
        let reconcile = move |ctx: Context<Shop>, _: Arc<Shop>| {
            let tries = counted.clone();
            async move {
                let cleanup = ctx.finalize("example.com/sign", async |_| {
                    tries.lock().push("tried".into());
                    match tries.lock().len() {
                        1 | 2 => Err("the ladder is missing".into()),
                        _ => Ok(()),
                    }
                });
                cleanup.await?;
                Ok(Action::done())
            }
        };
        operator
            .api::<Shop>()
            .controller(Controller::for_::<Shop>(), reconcile);
    });
    let cluster = operator.start_test().await.unwrap();
    let shops = api::<Shop>(&cluster);
    shops
        .create(&Default::default(), &shop("web", ""))
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    shops.delete("web", &Default::default()).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(shops.get_opt("web").await.unwrap().is_none());
    assert_eq!(tries.lock().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_status_does_not_overwrite_other_writers() {
    let cluster = Operator::new("keeper", |operator| {
        operator
            .api::<Shop>()
            .controller(Controller::for_::<Shop>(), close);
    });
    async fn close(ctx: Context<Shop>, shop: Arc<Shop>) -> Result<Action> {
        if shop.status.is_none() {
            // Another controller writes its own condition after the object was read.
            let other = json!({"status": {"conditions": [{
                "type": "Audited", "status": "True", "reason": "Checked", "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z"}]}});
            let shops = ctx.client().api::<Shop>("default");
            shops
                .patch_status("web", &Default::default(), &Patch::Merge(other))
                .await?;
        }
        let ready = ctx.condition("Ready", false, "Closed", "it is late");
        ctx.status(|status| status.conditions.set(&ready)).await?;
        Ok(Action::done())
    }
    let cluster = cluster.start_test().await.unwrap();
    let shops = api::<Shop>(&cluster);
    shops
        .create(&Default::default(), &shop("web", ""))
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    let conditions = shops.get("web").await.unwrap().status.unwrap().conditions;
    assert!(conditions.is_true("Audited"), "{conditions:?}");
    assert_eq!(conditions.find("Ready").unwrap().status, "False");
}

#[tokio::test(start_paused = true)]
async fn conditions_and_events_use_the_clock_of_the_cluster() {
    let log = Log::default();
    let cluster = keeper(&log).start_test().await.unwrap();
    cluster.time().advance(Duration::from_secs(3 * 3600)).await;
    let shops = api::<Shop>(&cluster);
    shops
        .create(&Default::default(), &shop("web", ""))
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    let now = cluster.time().now();
    let stored = shops.get("web").await.unwrap();
    let since = stored.status.unwrap().conditions[0].last_transition_time.0;
    assert!(now.duration_since(since).as_secs() < 60, "{since} at {now}");
    let events = api::<Event>(&cluster)
        .list(&Default::default())
        .await
        .unwrap();
    let at = events.items[0].event_time.as_ref().unwrap().0;
    assert!(now.duration_since(at).as_secs() < 60, "{at} at {now}");
}

/// Returns the Shops that use a Secret.
async fn users(client: Client, secret: Arc<Secret>) -> Result<Vec<Request>> {
    let filter = Filter::new().namespace(secret.namespace().unwrap_or_default());
    let shops = client
        .list::<Shop>(&filter.index("secret", secret.name_any()))
        .await?;
    Ok(shops.iter().map(|shop| Request::of(&**shop)).collect())
}

#[tokio::test(start_paused = true)]
async fn watches_map_objects_to_requests_by_an_index() {
    let log = Log::default();
    let state = log.clone();
    let operator = Operator::new("keeper", move |operator| {
        let reconcile = async |ctx: Context<Shop, Log>, shop: Arc<Shop>| {
            ctx.state().lock().push(shop.name_any());
            Ok(Action::done())
        };
        operator
            .api::<Shop>()
            .setup(|manager| {
                manager
                    .client()
                    .index_by::<Shop>("secret", |shop| vec![shop.spec.secret.clone()])?;
                Ok(())
            })
            .controller(
                Controller::for_::<Shop>().watches(users).state(state),
                reconcile,
            );
    });
    let cluster = operator.start_test().await.unwrap();
    let shops = api::<Shop>(&cluster);
    for (name, secret) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        shops
            .create(&Default::default(), &shop(name, secret))
            .await
            .unwrap();
    }
    cluster.settled().await.unwrap();
    log.lock().clear();
    let mut red = Secret::default();
    red.metadata.name = Some("red".into());
    api::<Secret>(&cluster)
        .create(&Default::default(), &red)
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    log.lock().sort();
    assert_eq!(*log.lock(), ["a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_predicate_of_the_main_kind_does_not_filter_owned_objects() {
    let log = Log::default();
    let state = log.clone();
    let operator = Operator::new("keeper", move |operator| {
        let generation = Predicate::generation_changed();
        let builder = Controller::for_with::<Shop>(|watch| watch.predicate(generation))
            .owns::<ConfigMap>()
            .state(state);
        operator.api::<Shop>().controller(builder, keep);
    });
    let cluster = operator.start_test().await.unwrap();
    let (shops, maps) = (api::<Shop>(&cluster), api::<ConfigMap>(&cluster));
    shops
        .create(&Default::default(), &shop("web", ""))
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    let runs = log.lock().len();
    // A ConfigMap has no generation, so the predicate would hide this.
    let emptied = Patch::Merge(json!({"data": {"apples": "0"}}));
    maps.patch("web", &Default::default(), &emptied)
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    assert!(log.lock().len() > runs);
    assert_eq!(maps.get("web").await.unwrap().data.unwrap()["apples"], "3");
    // A change of the metadata is filtered.
    let runs = log.lock().len();
    let labelled = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    shops
        .patch("web", &Default::default(), &labelled)
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    assert_eq!(log.lock().len(), runs);
}

#[tokio::test(start_paused = true)]
async fn setup_adds_runnables_health_checks_and_metrics() {
    let log = Log::default();
    let till = log.clone();
    let operator = Operator::new("keeper", move |operator| {
        operator
            .setup(move |manager| {
                let sold = CounterVec::new("sold_total", "Goods that were sold", []);
                manager.registry().register(sold.clone());
                manager.readyz().add("till", || Err("no change".into()));
                manager.add(Group::Others, "till", move |stop| async move {
                    sold.with([]).add(3);
                    till.lock().push("opened".into());
                    stop.stopping().await;
                    till.lock().push("closed".into());
                    Ok(())
                })?;
                Ok(())
            })
            .configure(|manager| manager.graceful_shutdown_timeout(Duration::from_secs(5)));
    });
    let cluster = operator.start_test().await.unwrap();
    let manager = cluster.manager().clone();
    while log.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(manager.registry().encode().contains("\nsold_total 3\n"));
    let report = manager.readyz().report("", "verbose").await;
    assert_eq!(report.status, 500);
    assert!(report.body.contains("[-]till failed"), "{}", report.body);
    cluster.stop().await.unwrap();
    assert_eq!(*log.lock(), ["opened", "closed"]);
}

#[tokio::test(start_paused = true)]
async fn the_question_mark_takes_every_error() {
    async fn reconcile(ctx: Context<Shop, Log>, shop: Arc<Shop>) -> Result<Action> {
        match shop.name_any().as_str() {
            "anyhow" => Err(anyhow::anyhow!("no luck"))?,
            "boxed" => Err(Box::<dyn std::error::Error + Send + Sync>::from("no luck"))?,
            "text" => return Err("no luck".into()),
            "terminal" => Err(anyhow::Error::from(Error::terminal("never")).context("at all"))?,
            "kube" => {
                let missing = ctx.client().api::<Secret>("default").get("none").await;
                missing.inspect_err(|error| assert!(error.is_not_found()))?;
            }
            _ => {}
        }
        Ok(Action::done())
    }
    let operator = Operator::new("keeper", move |operator| {
        let builder = Controller::for_::<Shop>().state(Log::default());
        operator
            .api::<Shop>()
            .controller(builder, reconcile)
            .rule("", &["secrets"], &["get"]);
    });
    let cluster = operator.start_test().await.unwrap();
    let shops = api::<Shop>(&cluster);
    shops
        .create(&Default::default(), &shop("terminal", ""))
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    let status = cluster.manager().controller("shop").unwrap().status();
    assert_eq!((status.runs, status.failures), (1, 1), "not tried again");
    for name in ["anyhow", "boxed", "text", "kube"] {
        shops
            .create(&Default::default(), &shop(name, ""))
            .await
            .unwrap();
        let unsettled = cluster.settled_within(Duration::from_secs(1)).await;
        assert!(unsettled.is_err(), "{name} is tried again");
        shops.delete(name, &Default::default()).await.unwrap();
        cluster.settled().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn settled_waits_for_kinds_that_are_defined_later() {
    let log = Log::default();
    let cluster = TestCluster::start().await;
    let manager = keeper(&log)
        .build(Manager::builder(cluster.client()))
        .unwrap();
    let running = cluster.run(&manager);
    // The kind is unknown, so there is nothing to do.
    cluster.settled().await.unwrap();
    keeper(&log).install_on(&cluster).await.unwrap();
    let shops = api::<Shop>(&cluster);
    shops
        .create(&Default::default(), &shop("web", ""))
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    assert_eq!(log.lock()[0], "keep web");
    running.stop().await.unwrap();
}
