//! For each rule, a story that raises a finding and one that does not.

use serde_json::{Value, json};

use super::*;
use crate::{
    Caller, Change, Commit, Ledger, Rejection, RequestKind,
    history::Version,
    run::{RunRequest, Trigger},
};

const NOW: i64 = 1_000_000;

fn at(seconds: f64) -> Timestamp {
    let nanos = (seconds * 1e9) as i64;
    Timestamp::from_nanosecond(i128::from(NOW) * 1_000_000_000 + i128::from(nanos)).unwrap()
}

fn captain(name: &str) -> ObjectRef {
    ObjectRef::new("crew.example.com", "captains", &format!("default/{name}"))
}

fn run(number: u64, start: f64, took: f64) -> Run {
    Run {
        number: 0,
        id: format!("m/captain/{number}"),
        manager: "m".into(),
        controller: "captain".into(),
        run: number,
        group: "crew.example.com".into(),
        resource: "captains".into(),
        key: "default/ahab".into(),
        reconcile_id: String::new(),
        attempt: 0,
        queued: None,
        start: at(start),
        end: at(start + took),
        queue_seconds: 0.0,
        duration_seconds: took,
        result: "done".into(),
        failed: false,
        triggers: Vec::new(),
        triggers_dropped: 0,
        requests: Vec::new(),
        requests_dropped: 0,
        log: Vec::new(),
        log_dropped: 0,
    }
}

fn triggered(mut run: Run, revision: u64) -> Run {
    run.triggers.push(Trigger {
        source: "captains.crew.example.com".into(),
        cause: "updated".into(),
        at: run.start,
        object: Some(captain("ahab")),
        resource_version: revision.to_string(),
    });
    run
}

fn wrote(mut run: Run, subresource: &str, revision: u64) -> Run {
    run.requests.push(RunRequest {
        verb: "patch".into(),
        object: captain("ahab"),
        subresource: subresource.into(),
        code: 200,
        revision: Some(revision),
        ..RunRequest::default()
    });
    run
}

#[derive(Default)]
struct Story {
    runs: Vec<Run>,
    requests: Vec<(u64, Arc<Entry>)>,
    managers: Vec<ManagerReport>,
    objects: Vec<ObjectFacts>,
    changes: Vec<(ObjectRef, Vec<Revision>)>,
}

impl Story {
    fn kinds(&self) -> Vec<FindingKind> {
        self.found().iter().map(|finding| finding.kind).collect()
    }

    fn found(&self) -> Vec<Finding> {
        let runs: Vec<_> = self.runs.iter().cloned().map(Arc::new).collect();
        let managers = self.managers.iter().cloned().map(Arc::new);
        let managers: Vec<_> = managers.map(|manager| (at(0.0), manager)).collect();
        findings(&Evidence {
            now: at(0.0),
            runs: &runs,
            requests: &self.requests,
            managers: &managers,
            objects: &self.objects,
            has_all_objects: true,
            changes: &self.changes,
            has_all_runs: &|_, _| true,
        })
    }
}

#[test]
fn a_frequently_reconciled_key_is_a_hot_loop() {
    let every = |seconds: f64| Story {
        runs: (0..40)
            .map(|at| triggered(run(at, -20.0 + at as f64 * seconds, 0.001), at))
            .collect(),
        ..Story::default()
    };
    let hot = every(0.1);
    assert_eq!(hot.kinds(), [FindingKind::HotLoop]);
    let message = &hot.found()[0].message;
    assert!(
        message.contains("captains.crew.example.com updated"),
        "{message}"
    );
    assert_eq!(every(0.25).kinds(), []);
}

#[test]
fn status_writes_that_trigger_the_next_run_are_found() {
    let chain = |revision: fn(u64) -> u64| Story {
        runs: (1..=3)
            .map(|n| {
                wrote(
                    triggered(run(n, n as f64 - 20.0, 0.001), n),
                    "status",
                    revision(n),
                )
            })
            .collect(),
        ..Story::default()
    };
    let mut story = chain(|n| n + 1);
    // A last run without a write does not matter.
    story.runs.push(triggered(run(4, -15.0, 0.001), 4));
    let found = story.found();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, FindingKind::FeedsItself);
    assert!(
        found[0].message.contains("metadata.generation"),
        "{}",
        found[0].message
    );
    // Writes of another client trigger the runs.
    assert_eq!(chain(|n| n + 100).kinds(), []);
}

#[test]
fn converging_controllers_are_not_found() {
    let story = Story {
        runs: vec![
            wrote(triggered(run(1, -9.0, 0.001), 1), "", 2),
            wrote(triggered(run(2, -8.0, 0.001), 2), "status", 3),
            triggered(run(3, -7.0, 0.001), 3),
        ],
        ..Story::default()
    };
    assert_eq!(story.kinds(), []);
}

fn change(revision: u64, seconds: f64, by: &str, before: Value, after: Value) -> Revision {
    let version = Version {
        revision,
        change: Change::Updated,
        before: Some(json!({"spec": {"replicas": before}})),
        object: json!({"spec": {"replicas": after}}),
    };
    Revision {
        time: Some(at(seconds)),
        field_manager: by.into(),
        ..Revision::of(&version, None, crate::Values::Shown)
    }
}

#[test]
fn managers_that_overwrite_each_other_fight() {
    let story = |second: &str, gap: f64, last: u32| Story {
        changes: vec![(
            captain("ahab"),
            vec![
                change(1, -300.0, "one", 0.into(), 1.into()),
                change(2, -300.0 + gap, second, 1.into(), 2.into()),
                change(3, -300.0 + 2.0 * gap, "one", 2.into(), last.into()),
            ],
        )],
        ..Story::default()
    };
    let found = story("two", 5.0, 1).found();
    assert_eq!(found[0].kind, FindingKind::Fight);
    assert_eq!(
        (found[0].field.as_str(), &*found[0].revisions),
        ("spec.replicas", &[1, 2, 3][..])
    );
    // A single manager, slow changes and new values are not a fight.
    assert_eq!(story("one", 5.0, 1).kinds(), []);
    assert_eq!(story("two", 40.0, 1).kinds(), []);
    assert_eq!(story("two", 5.0, 3).kinds(), []);
}

fn update(ledger: &Ledger, seconds: f64, unchanged: bool) -> (u64, Arc<Entry>) {
    let caller = ledger.caller(Caller {
        user: "bob",
        user_agent: "crew/1",
        field_manager: "captain",
    });
    let kind = |verb| RequestKind {
        verb,
        group: "crew.example.com",
        resource: "captains",
        subresource: "",
    };
    let mut entry = Entry::new(
        caller,
        ledger.kind(kind("update")),
        "default/ahab".into(),
        at(seconds),
    );
    entry.unchanged = unchanged;
    if !unchanged {
        entry.add(Commit {
            revision: 7,
            change: Change::Updated,
            kind: ledger.kind(kind("")),
            key: "default/ahab".into(),
        });
    }
    (1, Arc::new(entry))
}

#[test]
fn repeated_writes_without_a_change_are_found() {
    let ledger = Ledger::new();
    let story = |unchanged: [bool; 3], seconds: f64| Story {
        requests: unchanged.map(|it| update(&ledger, seconds, it)).into(),
        ..Story::default()
    };
    assert_eq!(story([true; 3], -5.0).kinds(), [FindingKind::WritesNothing]);
    assert_eq!(story([true, false, true], -5.0).kinds(), []);
    assert_eq!(story([true; 3], -90.0).kinds(), []);
}

/// A write of `ahab` in a run: a commit, or else a refusal for a reason.
fn write_of(ledger: &Ledger, seconds: f64, run: &str, refused: Option<&str>) -> (u64, Arc<Entry>) {
    let (number, entry) = update(ledger, seconds, refused.is_some());
    let mut entry = Arc::unwrap_or_clone(entry);
    entry.run = Some(run.into());
    if let Some(reason) = refused {
        entry.unchanged = false;
        entry.code = 409;
        entry.refusal = Some(Box::new(Rejection {
            reason: reason.into(),
            message: "no".into(),
        }));
    }
    (number, Arc::new(entry))
}

#[test]
fn a_conflict_with_its_own_write_is_a_stale_read() {
    let ledger = Ledger::new();
    let story = |writer: &str, reason: &str, seconds: f64| Story {
        requests: vec![
            write_of(&ledger, seconds - 1.0, writer, None),
            write_of(&ledger, seconds, "m/captain/2", Some(reason)),
        ],
        ..Story::default()
    };
    let found = story("m/captain/1", "Conflict", -5.0).found();
    assert_eq!(found[0].kind, FindingKind::StaleRead);
    assert_eq!(
        (&*found[0].controller, &*found[0].runs, &*found[0].revisions),
        ("captain", &["m/captain/2".to_owned()][..], &[7][..])
    );
    assert!(found[0].message.contains("at revision 7"), "{found:?}");
    // Others may write in between, a taken name is no conflict of versions, and old ones do not matter.
    assert_eq!(story("m/harbour/1", "Conflict", -5.0).kinds(), []);
    assert_eq!(story("m/captain/1", "AlreadyExists", -5.0).kinds(), []);
    assert_eq!(story("m/captain/1", "Conflict", -700.0).kinds(), []);
}

fn facts(name: &str) -> ObjectFacts {
    ObjectFacts {
        object: captain(name),
        uid: name.into(),
        created: Some(at(-500.0)),
        ..ObjectFacts::default()
    }
}

#[test]
fn deletions_that_wait_for_a_finalizer_are_stuck() {
    let story = |seconds: f64| Story {
        objects: vec![ObjectFacts {
            deleted: Some(at(seconds)),
            finalizers: vec!["crew.example.com/ship".into()],
            ..facts("ahab")
        }],
        runs: vec![run(1, -100.0, 0.001)],
        ..Story::default()
    };
    let found = story(-61.0).found();
    assert_eq!(found[0].kind, FindingKind::StuckDeletion);
    assert!(
        found[0].message.contains("crew.example.com/ship"),
        "{}",
        found[0].message
    );
    assert_eq!(found[0].controller, "captain");
    assert_eq!(story(-59.0).kinds(), []);
}

#[test]
fn objects_without_their_owner_are_orphans() {
    let story = |owner: &str| Story {
        objects: vec![
            ObjectFacts {
                owners: vec![("Captain".into(), "ahab".into(), owner.into())],
                ..facts("starbuck")
            },
            facts("ahab"),
        ],
        ..Story::default()
    };
    assert_eq!(story("gone").kinds(), [FindingKind::Orphan]);
    assert_eq!(story("ahab").kinds(), []);
}

/// Returns the reason why `ahab` was never reconciled.
fn never(change: impl FnOnce(&mut ManagerReport)) -> Option<String> {
    let mut manager = ManagerReport {
        manager: "m".into(),
        leading: true,
        controllers: vec![json!({
            "name": "captain", "group": "crew.example.com", "resource": "captains", "keys": [],
            "sources": [{"name": "captains.crew.example.com", "state": "synced"}],
        })],
        ..ManagerReport::default()
    };
    change(&mut manager);
    let story = Story {
        objects: vec![facts("ahab")],
        managers: vec![manager],
        ..Story::default()
    };
    story.found().pop().map(|finding| finding.reason)
}

#[test]
fn unreconciled_objects_have_a_reason() {
    assert_eq!(never(|_| {}).as_deref(), Some("predicate"));
    assert_eq!(never(|m| m.leading = false).as_deref(), Some("notLeader"));
    let elsewhere = |m: &mut ManagerReport| m.namespaces = vec!["shop".into()];
    assert_eq!(never(elsewhere).as_deref(), Some("namespace"));
    let syncing =
        |m: &mut ManagerReport| m.controllers[0]["sources"][0]["state"] = "syncing".into();
    assert_eq!(never(syncing).as_deref(), Some("cacheNotSynced"));
    let forbidden = |m: &mut ManagerReport| {
        m.controllers[0]["sources"][0]["error"] = "captains is forbidden: User cannot list".into();
    };
    assert_eq!(never(forbidden).as_deref(), Some("forbidden"));
    let waits = |m: &mut ManagerReport| {
        m.controllers[0]["keys"] = json!([{"key": "default/ahab", "running": false}]);
    };
    assert_eq!(never(waits).as_deref(), Some("pending"));
    let paused = |m: &mut ManagerReport| m.controllers[0]["paused"] = true.into();
    assert_eq!(never(paused).as_deref(), Some("paused"));
    let ran = |m: &mut ManagerReport| {
        m.controllers[0]["keys"] = json!([{"key": "default/ahab", "lastResult": "done"}]);
    };
    assert_eq!(never(ran), None);
    assert_eq!(never(|m| m.controllers.clear()), None);
}

#[test]
fn slow_runs_name_their_longest_request() {
    let story = |took: f64| {
        let mut slow = wrote(run(1, -20.0, took), "", 2);
        slow.requests[0].duration_seconds = took * 0.9;
        Story {
            runs: vec![slow],
            ..Story::default()
        }
    };
    let found = story(2.0).found();
    assert_eq!(found[0].kind, FindingKind::Slow);
    assert!(
        found[0].message.contains("1.8 s for patch captains"),
        "{}",
        found[0].message
    );
    assert_eq!(story(0.5).kinds(), []);
}
