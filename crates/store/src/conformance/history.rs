//! History: reading and compacting it.

use std::collections::BTreeMap;

use super::{
    Harness, Stop, Verdict, sentences,
    subject::{COLLECTION, Line, failure, key, line, lines},
    verdict::{ensure, ensure_eq},
};
use crate::{ReadError, Revision};

sentences![
    every_revision_of_the_past_can_be_read,
    a_revision_of_the_future_is_refused,
    compaction_refuses_what_is_older_and_keeps_the_rest,
    compaction_changes_nothing_of_the_present,
    compacting_to_the_same_or_a_lower_floor_does_nothing,
    compacting_to_the_future_is_refused,
    a_snapshot_outlives_compaction,
];

async fn every_revision_of_the_past_can_be_read(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let mut model: BTreeMap<String, Line> = BTreeMap::new();
    let mut entries = BTreeMap::new();
    let mut past = vec![(it.current().await?, model.clone())];
    for turn in 0..60_u32 {
        let path = format!("ns-{}/x-{}", turn % 2, turn % 5);
        let says = format!("turn {turn}");
        let entry = match entries.remove(&path) {
            None => it.create(&path, &says).await?,
            Some(entry) if turn % 3 == 0 => {
                let gone = it.delete(&entry).await?;
                model.remove(&path);
                past.push((gone.revision, model.clone()));
                continue;
            }
            Some(entry) => it.update(&entry, &says).await?,
        };
        model.insert(path.clone(), line(&entry));
        past.push((entry.revision, model.clone()));
        entries.insert(path, entry);
    }
    for (revision, model) in past {
        let at = it.at(revision).await?;
        ensure_eq!(at.revision(), revision, "the revision of the snapshot");
        for prefix in ["", "ns-1/", "ns-0/x-4"] {
            let expected = model.values().filter(|(path, ..)| path.starts_with(prefix));
            let expected: Vec<_> = expected.cloned().collect();
            let shown = lines(&*at, COLLECTION, prefix).await?;
            ensure_eq!(shown, expected, "{prefix:?} at {revision:?}");
            let count = at.count(COLLECTION, prefix).await?;
            ensure_eq!(
                count,
                expected.len() as u64,
                "the count of {prefix:?} at {revision:?}"
            );
        }
        let read = at.get(&key("ns-0/x-0")).await?.as_ref().map(line);
        ensure_eq!(
            read,
            model.get("ns-0/x-0").cloned(),
            "one object at {revision:?}"
        );
    }
    Ok(())
}

async fn a_revision_of_the_future_is_refused(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let now = it.create("a", "one").await?.revision;
    let future = Revision(now.0 + 1);
    match failure("the future", it.store.snapshot(Some(future)).await)? {
        ReadError::Future { requested, current } => {
            ensure_eq!((requested, current), (future, now), "what the error says");
            Ok(())
        }
        error => Err(error.into()),
    }
}

async fn compaction_refuses_what_is_older_and_keeps_the_rest(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let a = it.create("a", "one").await?;
    let b = it.create("b", "one").await?;
    let floor = it.update(&a, "two").await?;
    it.delete(&b).await?;
    it.store.compact(floor.revision).await?;
    match failure("a compacted revision", read_at(&it, a.revision).await)? {
        ReadError::Compacted {
            requested,
            floor: said,
        } => {
            ensure_eq!(requested, a.revision, "the revision that the error names");
            ensure_eq!(said, floor.revision, "the floor that the error names");
        }
        error => return Err(error.into()),
    }
    let shown = lines(&*it.at(floor.revision).await?, COLLECTION, "").await?;
    ensure_eq!(
        shown,
        vec![line(&floor), line(&b)],
        "the state at the floor"
    );
    let shown = lines(&*it.now().await?, COLLECTION, "").await?;
    ensure_eq!(shown, vec![line(&floor)], "the state now");
    Ok(())
}

/// Returns a snapshot, or the error of a read of it for stores that fail only then.
async fn read_at(it: &super::Subject, revision: Revision) -> Result<(), ReadError> {
    let at = it.store.snapshot(Some(revision)).await?;
    at.count(COLLECTION, "").await.map(drop)
}

async fn compaction_changes_nothing_of_the_present(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let a = it.create("a", "one").await?;
    let b = it.create("b", "one").await?;
    let gone = it.delete(&a).await?;
    it.store.compact(gone.revision).await?;
    ensure_eq!(it.current().await?, gone.revision, "the current revision");
    let shown = lines(&*it.now().await?, COLLECTION, "").await?;
    ensure_eq!(shown, vec![line(&b)], "the state now");
    let anew = it.create("a", "two").await?;
    it.follows(gone.revision, anew.revision, "the next revision")?;
    it.update(&b, "two").await?;
    ensure_eq!(it.now().await?.count(COLLECTION, "").await?, 2, "the count");
    Ok(())
}

async fn compacting_to_the_same_or_a_lower_floor_does_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let a = it.create("a", "one").await?;
    let b = it.update(&a, "two").await?;
    let c = it.update(&b, "three").await?;
    for floor in [b.revision, b.revision, a.revision] {
        it.store.compact(floor).await?;
    }
    ensure!(
        read_at(&it, a.revision).await.is_err(),
        "the past came back"
    );
    let shown = lines(&*it.at(b.revision).await?, COLLECTION, "").await?;
    ensure_eq!(shown, vec![line(&b)], "the state at the floor");
    let shown = lines(&*it.at(c.revision).await?, COLLECTION, "").await?;
    ensure_eq!(shown, vec![line(&c)], "the state now");
    Ok(())
}

async fn compacting_to_the_future_is_refused(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let a = it.create("a", "one").await?;
    let future = Revision(a.revision.0 + 1);
    match failure("a floor in the future", it.store.compact(future).await)? {
        ReadError::Future { .. } => {}
        error => return Err(error.into()),
    }
    let shown = lines(&*it.at(a.revision).await?, COLLECTION, "").await?;
    ensure_eq!(shown, vec![line(&a)], "the state now");
    Ok(())
}

async fn a_snapshot_outlives_compaction(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    if !it.snapshots_outlive_compaction {
        return Err(Stop::Skipped("snapshots do not outlive compaction"));
    }
    let a = it.create("a", "one").await?;
    let b = it.create("b", "one").await?;
    let then_newest = it.now().await?;
    let second = it.update(&a, "two").await?;
    it.delete(&b).await?;
    let then_old = it.at(b.revision).await?;
    let last = it.update(&second, "three").await?;
    it.store.compact(last.revision).await?;
    it.create("c", "one").await?;
    for then in [then_newest, then_old] {
        let shown = lines(&*then, COLLECTION, "").await?;
        ensure_eq!(shown, vec![line(&a), line(&b)], "what a snapshot shows");
        ensure_eq!(then.count(COLLECTION, "").await?, 2, "its count");
        let read = then.get(&key("b")).await?.as_ref().map(line);
        ensure_eq!(read, Some(line(&b)), "one object of it");
    }
    Ok(())
}
