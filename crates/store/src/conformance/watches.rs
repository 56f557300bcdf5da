//! Watches: every change once, in order, without gaps.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{FutureExt, future::join};

use super::{
    Harness, Stop, Subject, Verdict, sentences,
    subject::{COLLECTION, changes, described, failure, key, line, lines, object},
    verdict::{ensure, ensure_eq},
};
use crate::{ChangeKind, Entry, Key, ReadError, Revision, Watch};

sentences![
    a_watch_tells_what_was_done_and_what_was_before,
    a_watch_from_the_past_starts_there,
    a_watch_tells_of_its_prefix_and_collection_alone,
    a_watch_tells_nothing_of_writes_that_changed_nothing,
    all_watchers_are_told_the_same_in_the_same_order,
    between_a_snapshot_and_a_watch_of_its_revision_nothing_is_lost,
    giving_up_waiting_loses_nothing,
    progress_follows_what_was_told,
    progress_moves_on_where_nothing_matches,
    a_watch_from_before_the_floor_is_refused,
    a_watch_from_the_future_is_refused,
    compaction_does_not_end_a_watch_that_keeps_up,
];

type Told = (
    u64,
    ChangeKind,
    super::subject::Line,
    Option<super::subject::Line>,
);

fn created(entry: &Entry) -> Told {
    (entry.revision.0, ChangeKind::Created, line(entry), None)
}

fn updated(entry: &Entry, before: &Entry) -> Told {
    (
        entry.revision.0,
        ChangeKind::Updated,
        line(entry),
        Some(line(before)),
    )
}

fn deleted(entry: &Entry, before: &Entry) -> Told {
    (
        entry.revision.0,
        ChangeKind::Deleted,
        line(entry),
        Some(line(before)),
    )
}

async fn next(watch: &mut dyn Watch, many: usize) -> Verdict<Vec<Told>> {
    let changes = changes(watch, many).await?;
    Ok(changes.iter().map(|change| described(change)).collect())
}

/// The events of an object's life.
async fn life(it: &Subject, path: &str) -> Verdict<Vec<Told>> {
    let first = it.create(path, "one").await?;
    let second = it.update(&first, "two").await?;
    let gone = it.delete(&second).await?;
    let anew = it.create(path, "three").await?;
    Ok(vec![
        created(&first),
        updated(&second, &first),
        deleted(&gone, &second),
        created(&anew),
    ])
}

async fn a_watch_tells_what_was_done_and_what_was_before(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let mut watch = it.watch("").await?;
    let done = life(&it, "a").await?;
    ensure_eq!(next(&mut *watch, 4).await?, done, "the changes");
    Ok(())
}

async fn a_watch_from_the_past_starts_there(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let start = it.current().await?;
    let mut done = life(&it, "a").await?;
    done.extend(life(&it, "b").await?);
    for seen in 0..=8 {
        let (before, after) = done.split_at(seen);
        let from = before.last().map_or(start, |change| Revision(change.0));
        let mut watch = it.store.watch(COLLECTION, "", from).await?;
        ensure_eq!(
            next(&mut *watch, after.len()).await?,
            after,
            "the changes after {from:?}"
        );
        let last = it.create(&format!("after-{seen}"), "one").await?;
        ensure_eq!(
            next(&mut *watch, 1).await?,
            [created(&last)],
            "what came next"
        );
        done.push(created(&last));
    }
    Ok(())
}

async fn a_watch_tells_of_its_prefix_and_collection_alone(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let mut watch = it.watch("ns/").await?;
    for path in ["ns", "ns-b/x", "nt/x", "n", "ns0"] {
        life(&it, path).await?;
    }
    it.store
        .create(Key::new("example.org/thing", "ns/x"), object("one"))
        .await?;
    it.store
        .create(Key::new("example.org/things2", "ns/x"), object("one"))
        .await?;
    let mut done = life(&it, "ns/x").await?;
    done.extend(life(&it, "ns/").await?);
    ensure_eq!(next(&mut *watch, done.len()).await?, done, "the changes");
    Ok(())
}

async fn a_watch_tells_nothing_of_writes_that_changed_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    let mut watch = it.watch("").await?;
    it.update(&first, "one").await?;
    ensure!(
        it.store.create(key("a"), object("x")).await.is_err(),
        "a second create"
    );
    let stale = Revision(first.revision.0 - 1);
    ensure!(
        it.store.delete(key("a"), stale).await.is_err(),
        "a stale delete"
    );
    let second = it.update(&first, "two").await?;
    ensure_eq!(
        next(&mut *watch, 1).await?,
        [updated(&second, &first)],
        "the changes"
    );
    Ok(())
}

async fn all_watchers_are_told_the_same_in_the_same_order(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let mut watches = Vec::new();
    for _ in 0..20 {
        watches.push(it.watch("").await?);
    }
    let mut done = Vec::new();
    for n in 0..20 {
        done.extend(life(&it, &format!("a-{n}")).await?);
    }
    for watch in &mut watches {
        ensure_eq!(
            next(&mut **watch, done.len()).await?,
            done,
            "the changes of one watch"
        );
    }
    Ok(())
}

async fn between_a_snapshot_and_a_watch_of_its_revision_nothing_is_lost(
    harness: &dyn Harness,
) -> Verdict {
    let it = harness.open().await;
    let writer = async {
        for n in 0..30 {
            life(&it, &format!("a-{}", n % 7)).await?;
            let entry = it.store.get(&key(&format!("a-{}", n % 7))).await?;
            if let Some(entry) = entry {
                it.delete(&entry).await?;
            }
            // Yields to the other side.
            tokio::task::yield_now().await;
        }
        it.create("the-end", "one").await
    };
    let reader = async {
        let mut views = Vec::new();
        for _ in 0..10 {
            let snapshot = it.now().await?;
            tokio::task::yield_now().await;
            let revision = snapshot.revision();
            let mut watch = it.store.watch(COLLECTION, "", revision).await?;
            let mut view: BTreeMap<_, _> = lines(&*snapshot, COLLECTION, "")
                .await?
                .into_iter()
                .map(|line| (line.0.clone(), line))
                .collect();
            while !view.contains_key("the-end") {
                for change in super::subject::in_time(&mut *watch).await?? {
                    let path = change.entry.path.to_string();
                    let before = match change.kind {
                        ChangeKind::Deleted => view.remove(&path),
                        _ => view.insert(path, line(&change.entry)),
                    };
                    ensure_eq!(
                        before,
                        change.previous.as_ref().map(line),
                        "what was before"
                    );
                }
            }
            views.push(view);
        }
        Ok(views)
    };
    let (wrote, views) = join(writer, reader).await;
    wrote?;
    let end = lines(&*it.now().await?, COLLECTION, "").await?;
    for view in views? {
        let view: Vec<_> = view.into_values().collect();
        ensure_eq!(view, end, "a view kept up by a watch");
    }
    Ok(())
}

async fn giving_up_waiting_loses_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let mut watch = it.watch("").await?;
    for n in 0..5 {
        let early = watch.next().now_or_never();
        ensure!(
            early.is_none(),
            "a watch returned a change that did not happen"
        );
        let entry = it.create(&format!("a-{n}"), "one").await?;
        ensure_eq!(
            next(&mut *watch, 1).await?,
            [created(&entry)],
            "the changes"
        );
    }
    Ok(())
}

async fn progress_follows_what_was_told(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let start = it.current().await?;
    let mut watch = it.watch("").await?;
    ensure_eq!(watch.progress(), start, "progress before anything was done");
    let first = it.create("a", "one").await?;
    let second = it.update(&first, "two").await?;
    ensure!(
        watch.progress() < first.revision,
        "progress is past a change that was not returned"
    );
    changes(&mut *watch, 2).await?;
    let progress = watch.progress();
    ensure!(
        progress >= second.revision,
        "progress is behind the returned changes"
    );
    ensure!(progress <= it.current().await?, "progress is in the future");
    Ok(())
}

async fn progress_moves_on_where_nothing_matches(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let mut watch = it.watch("ns/").await?;
    let here = it.create("elsewhere/a", "one").await?;
    reaches(&mut *watch, here.revision).await?;
    let there = Key::new("example.org/others", "ns/a");
    let there = it.store.create(there, object("one")).await?;
    reaches(&mut *watch, there.revision).await
}

/// A remote store may take longer.
async fn reaches(watch: &mut dyn Watch, revision: Revision) -> Verdict {
    for _ in 0..3000 {
        if watch.progress() >= revision {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let progress = watch.progress();
    Err(Stop::Failed(format!(
        "progress stays at {progress:?} before {revision:?}"
    )))
}

async fn a_watch_from_before_the_floor_is_refused(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    let second = it.update(&first, "two").await?;
    let third = it.update(&second, "three").await?;
    it.store.compact(third.revision).await?;
    match failure(
        "a watch",
        it.store.watch(COLLECTION, "", first.revision).await,
    )? {
        ReadError::Compacted { floor, .. } => {
            ensure_eq!(floor, third.revision, "the floor that the error names");
        }
        error => return Err(error.into()),
    }
    let mut watch = it.store.watch(COLLECTION, "", third.revision).await?;
    let last = it.update(&third, "four").await?;
    ensure_eq!(
        next(&mut *watch, 1).await?,
        [updated(&last, &third)],
        "the changes"
    );
    Ok(())
}

async fn a_watch_from_the_future_is_refused(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let future = Revision(it.create("a", "one").await?.revision.0 + 1);
    match failure("a watch", it.store.watch(COLLECTION, "", future).await)? {
        ReadError::Future { .. } => Ok(()),
        error => Err(error.into()),
    }
}

async fn compaction_does_not_end_a_watch_that_keeps_up(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let mut busy = it.watch("").await?;
    let mut quiet = it.watch("quiet/").await?;
    for n in 0..5 {
        let done = life(&it, &format!("a-{n}")).await?;
        ensure_eq!(next(&mut *busy, 4).await?, done, "the changes");
        let early = quiet.next().now_or_never();
        ensure!(
            early.is_none(),
            "a watch returned a change that does not match"
        );
        it.store.compact(it.current().await?).await?;
    }
    let last = it.create("quiet/a", "one").await?;
    ensure_eq!(
        next(&mut *busy, 1).await?,
        [created(&last)],
        "the changes of one watch"
    );
    ensure_eq!(
        next(&mut *quiet, 1).await?,
        [created(&last)],
        "the changes of the other watch"
    );
    Ok(())
}
