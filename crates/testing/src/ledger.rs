//! [`TestLedger`]: assertions about who wrote what, and why.

use std::sync::Arc;

use http::Request as HttpRequest;
use kubewright_apiserver::Clock;
use kubewright_controller::Manager;
use kubewright_ledger::{Finding, FindingKind, ObjectRef, PageQuery, Request, Run, TimelineItem};
use parking_lot::Mutex;
use serde_json::Value;

use crate::cluster::TestCluster;

/// The number of lines of a timeline in the error of a controller that writes forever.
const LAST: usize = 10;

/// The managers whose runs are in the ledger, with the number of the last run that was collected.
#[derive(Clone, Default)]
pub(crate) struct Reporters(Arc<Mutex<Vec<(Manager, u64)>>>);

/// The ledger of a [`TestCluster`]: who wrote what, and why.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::{Api, PostParams};
/// use kubewright_controller::{Action, Context, Controller, Manager};
/// use kubewright_testing::TestCluster;
///
/// /// Labels each ConfigMap as seen.
/// async fn reconcile(ctx: Context<ConfigMap>, map: std::sync::Arc<ConfigMap>) -> kubewright_controller::Result<Action> {
///     let mut map = (*map).clone();
///     let labels = map.metadata.labels.get_or_insert_default();
///     if labels.insert("seen".into(), "true".into()).is_none() {
///         ctx.client().update(&map).await?;
///     }
///     Ok(Action::done())
/// }
///
/// let cluster = TestCluster::start().await;
/// let manager = Manager::new(cluster.client());
/// Controller::for_::<ConfigMap>().build(&manager, reconcile).unwrap();
/// let _running = cluster.run(&manager);
/// cluster.settled().await.unwrap();
///
/// let start = cluster.ledger().mark();
/// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("sky".into());
/// maps.create(&PostParams::default(), &map).await.unwrap();
/// cluster.settled().await.unwrap();
/// cluster.ledger().assert_writes(start, &[
///     "client: create configmaps default/sky",
///     "configmap: update configmaps default/sky because configmaps added",
/// ]).await;
///
/// // There are no further writes.
/// let settled = cluster.ledger().mark();
/// cluster.settled().await.unwrap();
/// cluster.ledger().assert_no_writes(settled).await;
/// cluster.ledger().assert_no_fights().await;
/// # });
/// ```
pub struct TestLedger<'a> {
    cluster: &'a TestCluster,
}

/// A position in a ledger: see [`TestLedger::mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerMark(u64);

impl TestCluster {
    /// Returns the ledger: who wrote what, and why. Runs are those of the managers that the cluster
    /// [runs](Self::run) or that are [attached](Self::attach) to it.
    pub fn ledger(&self) -> TestLedger<'_> {
        TestLedger { cluster: self }
    }
}

impl Reporters {
    pub(crate) fn add(&self, manager: &Manager) {
        self.0.lock().push((manager.clone(), 0));
    }
}

impl TestLedger<'_> {
    /// Returns the current position, which precedes later writes.
    pub fn mark(&self) -> LedgerMark {
        LedgerMark(self.cluster.ledger.bounds()[0].last)
    }

    /// Returns the requests after a position that changed an object.
    pub fn writes(&self, since: LedgerMark) -> Vec<Request> {
        let mut writes = Vec::new();
        let mut query = PageQuery {
            after: Some(since.0),
            limit: Some(usize::MAX),
        };
        loop {
            let page = self
                .cluster
                .ledger
                .requests(&query, |entry| entry.commit.is_some());
            let ended = page.items.is_empty() || page.next >= page.last;
            writes.extend(page.items);
            if ended {
                return writes;
            }
            query.after = Some(page.next);
        }
    }

    /// Returns the runs of controllers, in the order of their completion.
    pub fn runs(&self) -> Vec<Arc<Run>> {
        self.collect();
        self.cluster.ledger.runs()
    }

    /// Returns the findings: problems that the ledger shows.
    ///
    /// # Panics
    ///
    /// Panics if the request fails.
    pub async fn findings(&self) -> Vec<Finding> {
        let mut answer = self.get("findings").await;
        serde_json::from_value(answer["items"].take())
            .expect("findings are read as they are written")
    }

    /// Returns the history of an object, one line per event.
    ///
    /// # Panics
    ///
    /// Panics if the request fails.
    pub async fn timeline(&self, object: &ObjectRef) -> String {
        let answer = self.get(&timeline_of(object, 1000)).await;
        lines(object, answer)
    }

    /// Returns the last lines of the timeline of an object, on lines of their own; nothing if the server does not respond.
    pub(crate) async fn end_of_timeline(&self, object: Option<ObjectRef>) -> String {
        let Some(object) = object else {
            return String::new();
        };
        match self.try_get(&timeline_of(&object, LAST)).await {
            Ok(answer) => format!("\n{}", lines(&object, answer)),
            Err(_) => String::new(),
        }
    }

    /// Returns the timelines of all written objects except events and leases, up to a number of them.
    pub(crate) async fn all_timelines(&self, most: usize) -> Vec<(ObjectRef, String)> {
        let mut objects: Vec<ObjectRef> = self
            .writes(LedgerMark(0))
            .into_iter()
            .flat_map(|write| write.commits)
            .map(|commit| commit.object)
            .filter(|object| !matches!(object.resource.as_str(), "events" | "leases"))
            .collect();
        objects.sort();
        objects.dedup();
        let mut timelines = Vec::new();
        for object in objects.into_iter().take(most) {
            let timeline = self.timeline(&object).await;
            timelines.push((object, timeline));
        }
        timelines
    }

    /// Checks that exactly these writes were made after a position, in any order.
    ///
    /// A write is `MANAGER: VERB RESOURCE[/SUBRESOURCE] KEY`, followed by ` because SOURCE CAUSE` for each trigger of the run
    /// that made it. For clients without a field manager, the first part of their `User-Agent` takes its place, or `client`.
    ///
    /// # Panics
    ///
    /// Panics if other writes were made, with the timelines of their objects.
    pub async fn assert_writes(&self, since: LedgerMark, expected: &[&str]) {
        self.collect();
        let writes = self.writes(since);
        let runs = self.cluster.ledger.runs();
        let mut made: Vec<String> = writes.iter().map(|write| described(write, &runs)).collect();
        let mut wanted: Vec<&str> = expected.to_vec();
        made.sort();
        wanted.sort_unstable();
        if made == wanted {
            return;
        }
        let mut text = String::from("the writes differ\n");
        for write in made.iter().filter(|it| !wanted.contains(&it.as_str())) {
            text += &format!("  unexpected: {write}\n");
        }
        for write in wanted
            .iter()
            .filter(|it| !made.iter().any(|made| made == *it))
        {
            text += &format!("  missing:    {write}\n");
        }
        text += &format!("all of them: {made:#?}\n");
        text += &self.timelines(&writes).await;
        panic!("{text}");
    }

    /// Checks that nothing was written after a position.
    ///
    /// # Panics
    ///
    /// Panics otherwise, with the timelines of the objects.
    pub async fn assert_no_writes(&self, since: LedgerMark) {
        self.assert_writes(since, &[]).await;
    }

    /// Checks that no two managers overwrite each other's fields.
    ///
    /// # Panics
    ///
    /// Panics otherwise, with the timelines of the objects.
    pub async fn assert_no_fights(&self) {
        let mut fights = self.findings().await;
        fights.retain(|finding| finding.kind == FindingKind::Fight);
        if fights.is_empty() {
            return;
        }
        let mut text = String::new();
        for fight in &fights {
            text += &format!("{}\n", fight.message);
            if let Some(object) = &fight.object {
                text += &self.timeline(object).await;
            }
        }
        panic!("{text}");
    }

    /// Collects the runs that have ended since the last call.
    fn collect(&self) {
        let now = self.cluster.clock().now();
        for (manager, after) in self.cluster.reporters.0.lock().iter_mut() {
            loop {
                let report = manager.ledger_report(*after);
                let last = report.runs.last().map(|run| run.number);
                self.cluster.ledger.report(report, now);
                match last {
                    Some(last) => *after = last,
                    None => break,
                }
            }
        }
    }

    async fn timelines(&self, writes: &[Request]) -> String {
        let mut objects: Vec<&ObjectRef> = writes
            .iter()
            .flat_map(|write| &write.commits)
            .map(|commit| &commit.object)
            .collect();
        objects.sort();
        objects.dedup();
        let mut text = String::new();
        for object in objects {
            text += &self.timeline(object).await;
        }
        text
    }

    async fn get(&self, endpoint: &str) -> Value {
        let answer = self.try_get(endpoint).await;
        answer.unwrap_or_else(|error| panic!("the ledger cannot be read: {error}"))
    }

    async fn try_get(&self, endpoint: &str) -> kube::Result<Value> {
        self.collect();
        let request = HttpRequest::get(format!("/kubewright/v1/{endpoint}")).body(Vec::new());
        let request = request.map_err(kube::Error::HttpError)?;
        self.cluster.client().request(request).await
    }
}

/// Returns the endpoint of the last items of a timeline.
fn timeline_of(object: &ObjectRef, limit: usize) -> String {
    let ObjectRef {
        group,
        resource,
        namespace,
        name,
    } = object;
    format!(
        "timeline?group={group}&resource={resource}&namespace={namespace}&name={name}&limit={limit}"
    )
}

/// Returns the lines of a timeline.
fn lines(object: &ObjectRef, mut answer: Value) -> String {
    let items: Vec<TimelineItem> = serde_json::from_value(answer["items"].take())
        .expect("a timeline is read as it is written");
    let lines = items.iter().map(|item| format!("  {item}\n"));
    format!("{object}\n{}", lines.collect::<String>())
}

/// Describes a write with its reasons.
fn described(write: &Request, runs: &[Arc<Run>]) -> String {
    let by = match write.field_manager.as_str() {
        "" => "client",
        manager => manager,
    };
    let object = write
        .commits
        .first()
        .map_or(&write.object, |commit| &commit.object);
    let mut text = format!("{by}: {} {}", write.verb, write.object.resource);
    if !write.subresource.is_empty() {
        text += &format!("/{}", write.subresource);
    }
    text += &format!(" {}", object.key());
    let wrote = |run: &&Arc<Run>| {
        let revision = write.commits.last().map(|commit| commit.revision);
        write.run.as_ref() == Some(&run.id)
            || run
                .writes()
                .any(|request| request.revision.is_some() && request.revision == revision)
    };
    if let Some(run) = runs.iter().find(wrote) {
        for trigger in &run.triggers {
            let source = trigger.source.split('.').next().unwrap_or_default();
            text += &format!(" because {source} {}", trigger.cause);
        }
    }
    text
}
