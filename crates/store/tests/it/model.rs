//! Random work on a store, side by side with a model that remembers everything.

use std::sync::Arc;

use kubewright_store::{
    ChangeKind, Key, Limits, MemoryStore, Range, ReadError, Revision, Snapshot, Store, Watch,
    WatchError, WriteError,
};
use proptest::prelude::*;

use super::notified::{View, apply, drain, now, object, text, view_of};

const COLLECTIONS: [&str; 2] = ["pods", "apps/deployments"];
const PREFIXES: [&str; 4] = ["", "a/", "b/", "a/x1"];

#[derive(Clone, Debug)]
enum Op {
    Create(usize, String, u8),
    Update(usize, String, u8),
    StaleUpdate(usize, String),
    SameUpdate(usize, String),
    Delete(usize, String),
    Compact(f64),
    Snapshot(f64),
    Watch(usize, usize, f64),
    Drain,
    Fork,
}

fn op() -> impl Strategy<Value = Op> {
    let place = || (0..2_usize, "[ab]/x[0-5]{1,2}");
    prop_oneof![
        8 => (place(), any::<u8>()).prop_map(|((c, p), n)| Op::Create(c, p, n)),
        8 => (place(), any::<u8>()).prop_map(|((c, p), n)| Op::Update(c, p, n)),
        1 => place().prop_map(|(c, p)| Op::StaleUpdate(c, p)),
        1 => place().prop_map(|(c, p)| Op::SameUpdate(c, p)),
        5 => place().prop_map(|(c, p)| Op::Delete(c, p)),
        1 => (0.0..1.0).prop_map(Op::Compact),
        1 => (0.0..1.0).prop_map(Op::Snapshot),
        2 => (0..2_usize, 0..PREFIXES.len(), 0.0..1.0).prop_map(|(c, p, f)| Op::Watch(c, p, f)),
        2 => Just(Op::Drain),
        1 => Just(Op::Fork),
    ]
}

/// Everything that ever was.
#[derive(Clone, Default)]
struct Model {
    /// The state at each revision.
    past: Vec<[View; 2]>,
    /// The changes by revision: collection, path and kind.
    done: Vec<(usize, String, ChangeKind)>,
    floor: u64,
}

struct Watcher {
    collection: usize,
    prefix: &'static str,
    after: u64,
    watch: Box<dyn Watch>,
    told: Vec<u64>,
    view: View,
    /// The revision at which it had last received everything.
    looked: u64,
    lagged: bool,
}

struct Run {
    store: MemoryStore,
    limits: Limits,
    model: Model,
    snapshots: Vec<(u64, Arc<dyn Snapshot>)>,
    watchers: Vec<Watcher>,
}

impl Model {
    fn current(&self) -> u64 {
        self.done.len() as u64
    }

    fn at(&self, revision: u64, collection: usize) -> &View {
        &self.past[revision as usize][collection]
    }

    fn write(&mut self, collection: usize, path: &str, value: Option<(u64, String)>) {
        let mut next = self.past[self.current() as usize].clone();
        let view = &mut next[collection];
        let kind = match (view.remove(path), &value) {
            (None, _) => ChangeKind::Created,
            (Some(_), Some(_)) => ChangeKind::Updated,
            (Some(_), None) => ChangeKind::Deleted,
        };
        view.extend(value.map(|value| (path.to_owned(), value)));
        self.past.push(next);
        self.done.push((collection, path.to_owned(), kind));
    }

    /// Between the floor and now.
    fn pick(&self, fraction: f64) -> u64 {
        self.floor + ((self.current() - self.floor) as f64 * fraction).round() as u64
    }

    /// The revisions after one that did something to a prefix.
    fn after(&self, revision: u64, collection: usize, prefix: &str) -> Vec<u64> {
        let done = (1..).zip(&self.done).skip(revision as usize);
        done.filter(|(_, (c, path, _))| *c == collection && path.starts_with(prefix))
            .map(|(revision, _)| revision)
            .collect()
    }
}

impl Run {
    fn new(limits: Limits) -> Self {
        Self {
            store: MemoryStore::with_limits(Revision(0), limits.clone()),
            limits,
            model: Model {
                past: vec![Default::default()],
                ..Model::default()
            },
            snapshots: Vec::new(),
            watchers: Vec::new(),
        }
    }

    fn held(&self, collection: usize, path: &str) -> Option<(u64, String)> {
        self.model
            .at(self.model.current(), collection)
            .get(path)
            .cloned()
    }

    fn step(&mut self, op: Op) -> Option<Run> {
        let next = self.model.current() + 1;
        match op {
            Op::Create(c, path, n) => {
                let answer = now(self
                    .store
                    .create(Key::new(COLLECTIONS[c], &*path), object(n)));
                match (self.held(c, &path), answer) {
                    (Some(held), Err(WriteError::Exists(there))) => assert_eq!(text(&there), held),
                    (None, Ok(entry)) => {
                        assert_eq!(text(&entry), (next, format!("@{next} {n}")));
                        self.model.write(c, &path, Some(text(&entry)));
                    }
                    (held, answer) => panic!("{held:?} and then {answer:?}"),
                }
            }
            Op::Update(c, path, n) => {
                let (revision, _) = self.held(c, &path)?;
                let key = Key::new(COLLECTIONS[c], &*path);
                // A number that none has had, so that the bytes differ.
                let says = format!("{n} {next}");
                let updated =
                    now(self.store.update(key, Revision(revision), object(&says))).unwrap();
                assert!(updated.changed);
                assert_eq!(text(&updated.entry), (next, format!("@{next} {says}")));
                self.model.write(c, &path, Some(text(&updated.entry)));
            }
            Op::StaleUpdate(c, path) => {
                let held = self.held(c, &path);
                let stale = Revision(held.as_ref().map_or(next, |(revision, _)| revision - 1));
                let key = Key::new(COLLECTIONS[c], &*path);
                match now(self.store.update(key, stale, object("stale"))) {
                    Err(WriteError::Conflict(there)) => assert_eq!(there.as_ref().map(text), held),
                    _ => panic!("a stale update was let through"),
                }
            }
            Op::SameUpdate(c, path) => {
                let (revision, bytes) = self.held(c, &path)?;
                let says = bytes
                    .split_once(' ')
                    .map(|(_, says)| says)
                    .unwrap_or_default();
                let key = Key::new(COLLECTIONS[c], &*path);
                let same = now(self.store.update(key, Revision(revision), object(says))).unwrap();
                assert!(!same.changed);
                assert_eq!(text(&same.entry), (revision, bytes));
            }
            Op::Delete(c, path) => {
                let (revision, bytes) = self.held(c, &path)?;
                let key = Key::new(COLLECTIONS[c], &*path);
                let gone = now(self.store.delete(key, Revision(revision))).unwrap();
                let last = bytes.replacen(&format!("@{revision} "), &format!("@{next} "), 1);
                assert_eq!(text(&gone), (next, last));
                self.model.write(c, &path, None);
            }
            Op::Compact(fraction) => {
                self.model.floor = self.model.pick(fraction);
                now(self.store.compact(Revision(self.model.floor))).unwrap();
            }
            Op::Snapshot(fraction) => {
                let revision = self.model.pick(fraction);
                let snapshot = now(self.store.snapshot(Some(Revision(revision)))).unwrap();
                // What limits have taken by now cannot be read; what can be read now can be read ever after.
                if COLLECTIONS
                    .iter()
                    .all(|c| now(snapshot.count(c, "")).is_ok())
                {
                    self.snapshots.push((revision, snapshot));
                }
            }
            Op::Watch(collection, prefix, fraction) => {
                let (after, prefix) = (self.model.pick(fraction), PREFIXES[prefix]);
                let watch = self
                    .store
                    .watch(COLLECTIONS[collection], prefix, Revision(after));
                match now(watch) {
                    Ok(watch) => {
                        let mut view = self.model.at(after, collection).clone();
                        view.retain(|path, _| path.starts_with(prefix));
                        self.watchers.push(Watcher {
                            collection,
                            prefix,
                            after,
                            watch,
                            told: Vec::new(),
                            view,
                            looked: after,
                            lagged: false,
                        });
                    }
                    Err(error) => self.assert_forgotten(&error, after, collection),
                }
            }
            Op::Drain => self.drain(),
            Op::Fork => {
                let fork = Run {
                    store: self.store.fork(),
                    limits: self.limits.clone(),
                    model: self.model.clone(),
                    snapshots: Vec::new(),
                    watchers: Vec::new(),
                };
                return Some(fork);
            }
        }
        None
    }

    fn drain(&mut self) {
        let model = &self.model;
        let allowed = self.limits.max_lag.min(self.limits.max_changes);
        for watcher in &mut self.watchers {
            let (changes, error) = drain(&mut *watcher.watch);
            for change in changes {
                assert!(!watcher.lagged);
                watcher.told.push(change.revision.0);
                apply(&mut watcher.view, &change);
            }
            match error {
                None => {
                    assert_eq!(watcher.watch.progress().0, model.current());
                    watcher.looked = model.current();
                }
                Some(WatchError::Lagged { .. }) => {
                    watcher.lagged = true;
                    // Only if it has not looked for too long.
                    let behind = model.after(watcher.looked, watcher.collection, "").len();
                    assert!(behind as u64 > allowed, "{behind} behind is not too far");
                }
                Some(error) => panic!("{error}"),
            }
        }
    }

    /// An answer that a collection does not reach back so far must be true.
    fn assert_forgotten(&self, error: &ReadError, at: u64, collection: usize) {
        let ReadError::Compacted { requested, floor } = error else {
            panic!("{error}");
        };
        assert_eq!(requested.0, at);
        assert!(floor.0 > at);
        let since = self.model.after(at, collection, "").len() as u64;
        assert!(
            at < self.model.floor || since > self.limits.max_changes,
            "{error}"
        );
    }

    fn finish(mut self) {
        self.drain();
        for watcher in &self.watchers {
            let (c, prefix) = (watcher.collection, watcher.prefix);
            let done = self.model.after(watcher.after, c, prefix);
            assert!(
                done.starts_with(&watcher.told),
                "{done:?} {:?}",
                watcher.told
            );
            if !watcher.lagged {
                assert_eq!(done, watcher.told);
                let mut end = self.model.at(self.model.current(), c).clone();
                end.retain(|path, _| path.starts_with(prefix));
                assert_eq!(watcher.view, end);
            }
        }
        let kept = std::mem::take(&mut self.snapshots);
        for (revision, snapshot) in kept {
            assert_eq!(snapshot.revision(), Revision(revision));
            (0..2).for_each(|c| self.compare(&*snapshot, revision, c).expect("it was kept"));
        }
        for revision in 0..=self.model.current() {
            let snapshot = now(self.store.snapshot(Some(Revision(revision))));
            for c in 0..2 {
                let read = match &snapshot {
                    Ok(snapshot) => self.compare(&**snapshot, revision, c),
                    Err(ReadError::Compacted { requested, floor }) => Err(ReadError::Compacted {
                        requested: *requested,
                        floor: *floor,
                    }),
                    Err(error) => panic!("{error}"),
                };
                match read {
                    Ok(()) => assert!(revision >= self.model.floor),
                    Err(error) => self.assert_forgotten(&error, revision, c),
                }
            }
        }
    }

    /// Whole, by object, by prefix and by pages.
    fn compare(&self, snapshot: &dyn Snapshot, revision: u64, c: usize) -> Result<(), ReadError> {
        let (model, collection) = (self.model.at(revision, c), COLLECTIONS[c]);
        assert_eq!(&view_of(snapshot, collection)?, model);
        for (path, value) in model {
            let read = now(snapshot.get(&Key::new(collection, &**path)))?;
            assert_eq!(read.as_ref().map(text).as_ref(), Some(value));
        }
        for prefix in PREFIXES {
            let paths: Vec<_> = model
                .keys()
                .filter(|path| path.starts_with(prefix))
                .collect();
            assert_eq!(now(snapshot.count(collection, prefix))?, paths.len() as u64);
            let (mut seen, mut start) = (Vec::new(), String::new());
            loop {
                let range = Range {
                    prefix: prefix.into(),
                    start,
                    limit: 3,
                };
                let page = now(snapshot.range(collection, range))?;
                seen.extend(page.entries.iter().map(|entry| entry.path.to_string()));
                assert_eq!(seen.len() + page.remaining as usize, paths.len());
                match page.entries.last() {
                    Some(last) if page.remaining > 0 => start = format!("{}\0", last.path),
                    _ => break,
                }
            }
            assert!(seen.iter().eq(paths));
        }
        Ok(())
    }
}

fn run(limits: Limits, ops: Vec<Op>) {
    let mut runs = vec![Run::new(limits)];
    for (turn, op) in ops.into_iter().enumerate() {
        // Work goes on in all forks, in turn.
        let at = turn % runs.len();
        let fork = runs[at].step(op);
        if runs.len() < 3 {
            runs.extend(fork);
        }
    }
    runs.into_iter().for_each(Run::finish);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_store_is_what_a_model_that_remembers_everything_says(
        ops in prop::collection::vec(op(), 0..250),
    ) {
        run(Limits::default(), ops);
    }

    #[test]
    fn a_store_that_forgets_a_lot_stays_consistent(
        ops in prop::collection::vec(op(), 0..250),
        max_changes in 1..20_u64,
        max_lag in 1..20_u64,
    ) {
        run(Limits { max_changes, max_lag, ..Limits::default() }, ops);
    }
}
