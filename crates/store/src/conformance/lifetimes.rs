//! Lifetimes of objects. Skipped for stores whose time the checks cannot advance.

use std::time::Duration;

use super::{
    Harness, Pass, Stop, Subject, Verdict, sentences,
    subject::{changes, key, line, object, seen},
    verdict::{ensure, ensure_eq},
};
use crate::{ChangeKind, Payload};

sentences![
    an_object_is_deleted_when_its_lifetime_is_over,
    an_update_begins_a_new_lifetime,
    an_update_without_a_lifetime_ends_it,
    an_object_created_anew_does_not_inherit_a_lifetime,
];

const SHORT: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(60);

fn passing(it: &Subject) -> Verdict<&Pass> {
    let unable = Stop::Skipped("time cannot be passed");
    it.pass.as_ref().ok_or(unable)
}

fn mortal(says: &str, ttl: Duration) -> Payload {
    Payload {
        ttl: Some(ttl),
        ..object(says)
    }
}

async fn an_object_is_deleted_when_its_lifetime_is_over(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let pass = passing(&it)?;
    let long = it.store.create(key("long"), mortal("one", LONG)).await?;
    let short = it.store.create(key("short"), mortal("one", SHORT)).await?;
    let ever = it.create("ever", "one").await?;
    let mut watch = it.watch("").await?;
    pass(SHORT / 2).await;
    ensure_eq!(
        it.current().await?,
        ever.revision,
        "the revision before the time"
    );
    pass(SHORT).await;
    let change = changes(&mut *watch, 1).await?.remove(0);
    ensure_eq!(change.kind, ChangeKind::Deleted, "what happened");
    it.follows(
        ever.revision,
        change.revision,
        "the revision of the deletion",
    )?;
    ensure_eq!(
        change.entry.bytes,
        seen("one", change.revision),
        "the last object"
    );
    ensure_eq!(
        change.previous.as_ref().map(line),
        Some(line(&short)),
        "what was before"
    );
    ensure!(
        it.store.get(&key("short")).await?.is_none(),
        "the object is still there"
    );
    let read = it.store.get(&key("long")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&long)), "an object that lives longer");
    pass(LONG).await;
    ensure!(
        it.store.get(&key("long")).await?.is_none(),
        "the object is still there"
    );
    ensure!(
        it.store.get(&key("ever")).await?.is_some(),
        "an object without a lifetime is gone"
    );
    Ok(())
}

async fn an_update_begins_a_new_lifetime(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let pass = passing(&it)?;
    let first = it.store.create(key("a"), mortal("one", LONG)).await?;
    pass(LONG / 2).await;
    let second = it
        .store
        .update(key("a"), first.revision, mortal("two", LONG))
        .await?;
    pass(LONG * 3 / 4).await;
    let read = it.store.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(
        read,
        Some(line(&second.entry)),
        "an object in its second lifetime"
    );
    pass(LONG / 2).await;
    ensure!(
        it.store.get(&key("a")).await?.is_none(),
        "the object is still there"
    );
    Ok(())
}

async fn an_update_without_a_lifetime_ends_it(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let pass = passing(&it)?;
    let first = it.store.create(key("a"), mortal("one", SHORT)).await?;
    let second = it.update(&first, "two").await?;
    pass(SHORT * 3).await;
    let read = it.store.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&second)), "an object without a lifetime");
    Ok(())
}

async fn an_object_created_anew_does_not_inherit_a_lifetime(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let pass = passing(&it)?;
    let first = it.store.create(key("a"), mortal("one", SHORT)).await?;
    it.delete(&first).await?;
    let anew = it.create("a", "one").await?;
    pass(SHORT * 3).await;
    let read = it.store.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&anew)), "an object created anew");
    Ok(())
}
