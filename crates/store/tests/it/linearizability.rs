//! Many threads at once: what they saw must be explained by one order of all writes, that of their revisions.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Barrier,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use kubewright_store::{Change, Entry, MemoryStore, Store, WriteError};

use super::notified::{View, apply, current, now, object, pod, text, watch};

const THREADS: u64 = 4;
const TURNS: u64 = 150;
const PATHS: u64 = 3;

/// A write or read that was answered.
struct Done {
    path: String,
    /// The revision of the store before and after, as the thread saw it.
    between: (u64, u64),
    /// Moments before and after, ordered across threads.
    moments: (u64, u64),
    answer: Answer,
}

enum Answer {
    Created(Entry),
    Updated {
        expected: u64,
        entry: Entry,
    },
    Deleted {
        expected: u64,
        entry: Entry,
    },
    /// The state that a read or a rejected write observed.
    Saw(Option<(u64, String)>),
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}

fn work(store: &MemoryStore, clock: &AtomicU64, thread: u64, seed: u64) -> Vec<Done> {
    let mut state = (seed + 1) * 0x9E37_79B9 + thread;
    let mut done = Vec::new();
    for turn in 0..TURNS {
        let path = format!("p{}", random(&mut state) % PATHS);
        let start = clock.fetch_add(1, Ordering::SeqCst);
        let before = current(store);
        let held = now(store.get(&pod(&path))).expect("read");
        let says = object(format!("{thread} {turn}"));
        let answer = match (held, random(&mut state) % 4) {
            (held, 0) => Answer::Saw(held.as_ref().map(text)),
            (None, _) => match now(store.create(pod(&path), says)) {
                Ok(entry) => Answer::Created(entry),
                Err(WriteError::Exists(there)) => Answer::Saw(Some(text(&there))),
                Err(error) => panic!("{error}"),
            },
            (Some(held), 1) => match now(store.delete(pod(&path), held.revision)) {
                Ok(entry) => Answer::Deleted {
                    expected: held.revision.0,
                    entry,
                },
                Err(WriteError::Conflict(there)) => Answer::Saw(there.as_ref().map(text)),
                Err(error) => panic!("{error}"),
            },
            (Some(held), _) => match now(store.update(pod(&path), held.revision, says)) {
                Ok(updated) => Answer::Updated {
                    expected: held.revision.0,
                    entry: updated.entry,
                },
                Err(WriteError::Conflict(there)) => Answer::Saw(there.as_ref().map(text)),
                Err(error) => panic!("{error}"),
            },
        };
        let after = current(store);
        done.push(Done {
            path,
            between: (before, after),
            moments: (start, clock.fetch_add(1, Ordering::SeqCst)),
            answer,
        });
    }
    done
}

/// Collects changes in a runtime of its own until the last arrives.
fn listen(store: &MemoryStore) -> Vec<Arc<Change>> {
    let mut watch = watch(store, "", 0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut told: Vec<Arc<Change>> = Vec::new();
        while told.last().is_none_or(|last| &*last.entry.path != "end") {
            let next = tokio::time::timeout(Duration::from_secs(60), watch.next()).await;
            told.extend(next.expect("a watcher was forgotten").expect("changes"));
        }
        told
    })
}

fn check(seed: u64) {
    let store = MemoryStore::new();
    let clock = AtomicU64::new(0);
    let together = Barrier::new(THREADS as usize + 2);
    let (done, told) = std::thread::scope(|scope| {
        let listeners: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    listen(&store)
                })
            })
            .collect();
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (store, clock, together) = (&store, &clock, &together);
                scope.spawn(move || {
                    together.wait();
                    work(store, clock, thread, seed)
                })
            })
            .collect();
        let done: Vec<Done> = workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a worker"))
            .collect();
        now(store.create(pod("end"), object("end"))).expect("created");
        let told: Vec<_> = listeners
            .into_iter()
            .map(|listener| listener.join().expect("a listener"))
            .collect();
        (done, told)
    });
    explain(&done, &told);
}

/// Replays all writes by revision.
fn explain(done: &[Done], told: &[Vec<Arc<Change>>]) {
    let mut writes = BTreeMap::new();
    for done in done {
        let (expected, entry) = match &done.answer {
            Answer::Created(entry) => (None, entry),
            Answer::Updated { expected, entry } | Answer::Deleted { expected, entry } => {
                (Some(*expected), entry)
            }
            Answer::Saw(_) => continue,
        };
        let revision = entry.revision.0;
        assert!(done.between.0 < revision && revision <= done.between.1);
        let twice = writes.insert(revision, (done, expected, entry));
        assert!(twice.is_none(), "two writes have revision {revision}");
    }
    assert!(
        writes.keys().copied().eq(1..=writes.len() as u64),
        "there are gaps"
    );

    // Real time: what ended before another began comes before it.
    let mut latest_start = 0;
    for (done, ..) in writes.values() {
        assert!(
            done.moments.1 > latest_start,
            "a write was ordered before one that it followed"
        );
        latest_start = latest_start.max(done.moments.0);
    }

    // Legality: each write found what it expected. The states are kept for the reads.
    let mut states = vec![View::new()];
    for (revision, (done, expected, entry)) in &writes {
        let mut state = states[*revision as usize - 1].clone();
        let held = state.remove(&done.path).map(|(revision, _)| revision);
        assert_eq!(
            held, *expected,
            "write {revision} did not find what it expected"
        );
        if !matches!(done.answer, Answer::Deleted { .. }) {
            state.insert(done.path.clone(), text(entry));
        }
        states.push(state);
    }
    for done in done {
        if let Answer::Saw(saw) = &done.answer {
            let (from, to) = done.between;
            let possible = &states[from as usize..=(to as usize).min(states.len() - 1)];
            let explained = possible
                .iter()
                .any(|state| state.get(&done.path) == saw.as_ref());
            assert!(
                explained,
                "{saw:?} of {} was never so in {:?}",
                done.path, done.between
            );
        }
    }

    // Every watcher received exactly this.
    for told in told {
        let mut view = View::new();
        let (last, told) = told.split_last().expect("the end");
        assert_eq!(last.revision.0, writes.len() as u64 + 1);
        assert_eq!(told.len(), writes.len());
        for (change, state) in told.iter().zip(&states[1..]) {
            apply(&mut view, change);
            assert_eq!(&view, state);
        }
    }
}

#[test]
fn threads_see_one_order_of_writes() {
    (0..5).for_each(check);
}
