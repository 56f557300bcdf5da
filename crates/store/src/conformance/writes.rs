//! Create, update and delete: compare-and-swap on the revision.

use futures_util::future::join_all;

use super::{
    Harness, Stop, Verdict, sentences,
    subject::{COLLECTION, conflict, key, line, object, seen},
    verdict::{ensure, ensure_eq},
};
use crate::{Key, Payload, Revision, WriteError};

sentences![
    a_created_object_is_read_back_with_its_revision,
    creating_what_exists_answers_the_object_that_is_there,
    an_update_replaces_the_object,
    a_stale_update_is_a_conflict_and_changes_nothing,
    an_update_of_nothing_is_a_conflict_with_nothing,
    an_update_with_the_same_bytes_writes_nothing,
    a_stale_update_with_the_same_bytes_is_a_conflict,
    a_delete_answers_the_last_object_with_the_revision_of_the_deletion,
    a_stale_delete_is_a_conflict_and_deletes_nothing,
    a_delete_of_nothing_is_a_conflict_with_nothing,
    a_revision_from_before_a_deletion_is_good_for_nothing,
    revisions_are_dense_across_collections,
    failed_writes_take_no_revision,
    of_concurrent_updates_of_one_revision_one_wins,
    of_concurrent_creates_of_one_path_one_wins,
    concurrent_writes_have_revisions_of_their_own,
    bytes_without_a_place_for_the_revision_stay_as_they_are,
    a_place_at_either_end_of_the_bytes_is_a_place,
];

async fn a_created_object_is_read_back_with_its_revision(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let before = it.current().await?;
    let created = it.create("a", "one").await?;
    ensure!(
        created.revision > before,
        "a create did not move the revision"
    );
    ensure_eq!(
        it.current().await?,
        created.revision,
        "the current revision"
    );
    ensure_eq!(&*created.path, "a", "the path");
    ensure_eq!(created.bytes, seen("one", created.revision), "the answer");
    let read = it.store.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&created)), "what is read back");
    let read = it.now().await?.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&created)), "what a snapshot shows");
    Ok(())
}

async fn creating_what_exists_answers_the_object_that_is_there(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    match it.store.create(key("a"), object("two")).await {
        Err(WriteError::Exists(there)) => {
            ensure_eq!(line(&there), line(&first), "the object that is there");
        }
        Err(error) => return Err(error.into()),
        Ok(_) => return Err(Stop::Failed("a second create was let through".into())),
    }
    let read = it.store.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&first)), "what is read back");
    Ok(())
}

async fn an_update_replaces_the_object(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    let updated = it.store.update(key("a"), first.revision, object("two"));
    let updated = updated.await?;
    ensure!(updated.changed, "an update said it changed nothing");
    let entry = updated.entry;
    ensure!(entry.revision > first.revision, "the revision did not move");
    ensure_eq!(entry.bytes, seen("two", entry.revision), "the answer");
    let read = it.store.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&entry)), "what is read back");
    Ok(())
}

async fn a_stale_update_is_a_conflict_and_changes_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    let second = it.update(&first, "two").await?;
    for stale in [first.revision, Revision(0), Revision(second.revision.0 + 1)] {
        let answer = it.store.update(key("a"), stale, object("three")).await;
        let there = conflict("a stale update", answer)?.as_ref().map(line);
        ensure_eq!(there, Some(line(&second)), "the object that is there");
    }
    let read = it.store.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&second)), "what is read back");
    Ok(())
}

async fn an_update_of_nothing_is_a_conflict_with_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let now = it.create("b", "other").await?.revision;
    for revision in [Revision(0), now] {
        let answer = it.store.update(key("a"), revision, object("one")).await;
        let there = conflict("an update of nothing", answer)?;
        ensure!(there.is_none(), "something is there: {there:?}");
    }
    ensure!(
        it.store.get(&key("a")).await?.is_none(),
        "an object came to be"
    );
    Ok(())
}

async fn an_update_with_the_same_bytes_writes_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    // Also for an object that was updated, so that its revision differs from that of its creation.
    let first = it.update(&first, "two").await?;
    let again = it
        .store
        .update(key("a"), first.revision, object("two"))
        .await?;
    ensure!(!again.changed, "the same bytes were written again");
    ensure_eq!(line(&again.entry), line(&first), "the answer");
    ensure_eq!(it.current().await?, first.revision, "the current revision");
    Ok(())
}

async fn a_stale_update_with_the_same_bytes_is_a_conflict(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    let second = it.update(&first, "two").await?;
    let answer = it
        .store
        .update(key("a"), first.revision, object("two"))
        .await;
    let there = conflict("a stale update", answer)?.as_ref().map(line);
    ensure_eq!(there, Some(line(&second)), "the object that is there");
    Ok(())
}

async fn a_delete_answers_the_last_object_with_the_revision_of_the_deletion(
    harness: &dyn Harness,
) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    let gone = it.delete(&first).await?;
    ensure!(gone.revision > first.revision, "the revision did not move");
    ensure_eq!(gone.bytes, seen("one", gone.revision), "the answer");
    ensure_eq!(it.current().await?, gone.revision, "the current revision");
    ensure!(
        it.store.get(&key("a")).await?.is_none(),
        "the object is still there"
    );
    Ok(())
}

async fn a_stale_delete_is_a_conflict_and_deletes_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    let second = it.update(&first, "two").await?;
    for stale in [first.revision, Revision(0)] {
        let answer = it.store.delete(key("a"), stale).await;
        let there = conflict("a stale delete", answer)?.as_ref().map(line);
        ensure_eq!(there, Some(line(&second)), "the object that is there");
    }
    let read = it.store.get(&key("a")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&second)), "what is read back");
    Ok(())
}

async fn a_delete_of_nothing_is_a_conflict_with_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    it.delete(&first).await?;
    for (path, revision) in [
        ("a", first.revision),
        ("b", first.revision),
        ("b", Revision(0)),
    ] {
        let there = conflict(
            "a delete of nothing",
            it.store.delete(key(path), revision).await,
        )?;
        ensure!(there.is_none(), "something is there: {there:?}");
    }
    Ok(())
}

async fn a_revision_from_before_a_deletion_is_good_for_nothing(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    let gone = it.delete(&first).await?;
    let anew = it.create("a", "one").await?;
    ensure!(anew.revision > gone.revision, "the revision did not move");
    for stale in [first.revision, gone.revision] {
        conflict(
            "an update",
            it.store.update(key("a"), stale, object("x")).await,
        )?;
        conflict("a delete", it.store.delete(key("a"), stale).await)?;
    }
    Ok(())
}

async fn revisions_are_dense_across_collections(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    if it.has_gaps {
        return Err(Stop::Skipped("revisions have gaps"));
    }
    let start = it.create("a", "one").await?.revision.0;
    let mut revisions = Vec::new();
    for n in 0..5 {
        let other = Key::new("example.org/others", format!("b-{n}"));
        let created = it.store.create(other.clone(), object("one")).await?;
        let updated = it
            .store
            .update(other.clone(), created.revision, object("two"));
        let updated = updated.await?.entry;
        let here = it.create(&format!("c-{n}"), "one").await?;
        let gone = it.store.delete(other, updated.revision).await?;
        let these = [created, updated, here, gone];
        revisions.extend(these.map(|entry| entry.revision.0));
    }
    let dense: Vec<_> = (start + 1..).take(revisions.len()).collect();
    ensure_eq!(revisions, dense, "the revisions of writes in a row");
    Ok(())
}

async fn failed_writes_take_no_revision(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let first = it.create("a", "one").await?;
    ensure!(
        it.store.create(key("a"), object("two")).await.is_err(),
        "a second create was let through"
    );
    let stale = Revision(first.revision.0 - 1);
    conflict(
        "an update",
        it.store.update(key("a"), stale, object("x")).await,
    )?;
    conflict("a delete", it.store.delete(key("b"), stale).await)?;
    ensure_eq!(it.current().await?, first.revision, "the current revision");
    Ok(())
}

async fn of_concurrent_updates_of_one_revision_one_wins(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let mut last = it.create("a", "zero").await?;
    for round in 0..8 {
        let tries = (0..16).map(|n| {
            let says = object(&format!("{round}-{n}"));
            it.store.update(key("a"), last.revision, says)
        });
        let mut won = Vec::new();
        for answer in join_all(tries).await {
            match answer {
                Ok(updated) => won.push(updated.entry),
                Err(WriteError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        ensure_eq!(won.len(), 1, "how many updates won");
        let read = it.store.get(&key("a")).await?.as_ref().map(line);
        ensure_eq!(read, won.first().map(line), "what is read back");
        last = won.remove(0);
    }
    Ok(())
}

async fn of_concurrent_creates_of_one_path_one_wins(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let tries = (0..16).map(|n| it.store.create(key("a"), object(&n.to_string())));
    let answers = join_all(tries).await;
    let won = answers.iter().filter(|answer| answer.is_ok()).count();
    ensure_eq!(won, 1, "how many creates won");
    Ok(())
}

async fn concurrent_writes_have_revisions_of_their_own(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let tries = (0..32).map(|n| it.store.create(key(&format!("a-{n}")), object("one")));
    let mut revisions = Vec::new();
    for answer in join_all(tries).await {
        revisions.push(answer?.revision.0);
    }
    revisions.sort_unstable();
    revisions.dedup();
    ensure_eq!(revisions.len(), 32, "how many revisions there are");
    let end = it.current().await?.0;
    if it.has_gaps {
        ensure!(revisions.ends_with(&[end]), "the last write is not current");
        return Ok(());
    }
    let dense: Vec<_> = (end + 1 - revisions.len() as u64..=end).collect();
    ensure_eq!(revisions, dense, "the revisions of concurrent writes");
    Ok(())
}

async fn bytes_without_a_place_for_the_revision_stay_as_they_are(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let bytes: &[u8] = &[0, 255, b'"', 10, 0];
    let created = it.store.create(key("a"), Payload::plain(bytes)).await?;
    ensure_eq!(created.bytes, bytes, "the answer to a create");
    let same = it
        .store
        .update(key("a"), created.revision, Payload::plain(bytes));
    ensure!(!same.await?.changed, "the same bytes were written again");
    let gone = it.delete(&created).await?;
    ensure_eq!(gone.bytes, bytes, "the answer to a delete");
    let empty = it
        .store
        .create(key("b"), Payload::plain(Vec::new()))
        .await?;
    ensure!(empty.bytes.is_empty(), "empty bytes did not stay so");
    let count = it.now().await?.count(COLLECTION, "").await?;
    ensure_eq!(count, 1, "how many objects there are");
    Ok(())
}

async fn a_place_at_either_end_of_the_bytes_is_a_place(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    for (path, place) in [("start", 0), ("end", 3)] {
        let payload = Payload {
            revision_at: Some(place),
            ..Payload::plain("abc")
        };
        let expected = |revision| payload.spliced(revision);
        let created = it.store.create(key(path), payload.clone()).await?;
        ensure_eq!(created.bytes, expected(created.revision), "a create");
        let same = it
            .store
            .update(key(path), created.revision, payload.clone())
            .await?;
        ensure!(!same.changed, "the same bytes were written again");
        let gone = it.delete(&created).await?;
        ensure_eq!(gone.bytes, expected(gone.revision), "a delete");
    }
    Ok(())
}
