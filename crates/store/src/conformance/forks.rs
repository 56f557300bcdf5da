//! Forks: a store with the same past and a separate future. Skipped for stores that cannot fork.

use super::{
    Harness, Stop, Subject, Verdict, sentences,
    subject::{COLLECTION, changes, described, line, lines},
    verdict::ensure_eq,
};

sentences![
    a_fork_has_the_present_and_the_past,
    a_fork_and_its_original_go_their_own_ways,
];

async fn fork(it: &Subject) -> Verdict<Subject> {
    match &it.fork {
        Some(fork) => Ok(Subject::new(fork().await)),
        None => Err(Stop::Skipped("the store cannot be forked")),
    }
}

async fn a_fork_has_the_present_and_the_past(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let a = it.create("a", "one").await?;
    let b = it.update(&a, "two").await?;
    let gone = it.delete(&b).await?;
    let c = it.create("c", "one").await?;
    let fork = fork(&it).await?;
    ensure_eq!(
        fork.current().await?,
        c.revision,
        "the revision of the fork"
    );
    for revision in [a.revision, b.revision, gone.revision, c.revision] {
        let original = lines(&*it.at(revision).await?, COLLECTION, "").await?;
        let forked = lines(&*fork.at(revision).await?, COLLECTION, "").await?;
        ensure_eq!(forked, original, "the state at {revision:?}");
    }
    let mut watch = fork.store.watch(COLLECTION, "", a.revision).await?;
    let told: Vec<_> = changes(&mut *watch, 3)
        .await?
        .iter()
        .map(|c| described(c).0)
        .collect();
    let done = [b.revision.0, gone.revision.0, c.revision.0];
    ensure_eq!(told, done, "the past as a watch of the fork reports it");
    Ok(())
}

async fn a_fork_and_its_original_go_their_own_ways(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let a = it.create("a", "one").await?;
    let mut original_watch = it.watch("").await?;
    let fork = fork(&it).await?;
    let mut fork_watch = fork.watch("").await?;
    let here = it.update(&a, "here").await?;
    let there = fork.update(&a, "there").await?;
    ensure_eq!(here.revision, there.revision, "the next revision of both");
    let more = fork.create("b", "there").await?;
    fork.store.compact(more.revision).await?;
    ensure_eq!(
        lines(&*it.now().await?, COLLECTION, "").await?,
        vec![line(&here)],
        "the original"
    );
    ensure_eq!(
        lines(&*fork.now().await?, COLLECTION, "").await?,
        vec![line(&there), line(&more)],
        "the fork"
    );
    ensure_eq!(
        lines(&*it.at(a.revision).await?, COLLECTION, "").await?,
        vec![line(&a)],
        "the past of the original"
    );
    let told_here = changes(&mut *original_watch, 1).await?;
    ensure_eq!(
        line(&told_here[0].entry),
        line(&here),
        "the changes that the original reports"
    );
    let told_there = changes(&mut *fork_watch, 2).await?;
    ensure_eq!(
        line(&told_there[0].entry),
        line(&there),
        "the changes that the fork reports"
    );
    Ok(())
}
