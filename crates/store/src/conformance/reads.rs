//! Snapshots and ranges.

use super::{
    Harness, Verdict, sentences,
    subject::{COLLECTION, Line, key, line, lines, object},
    verdict::{ensure, ensure_eq},
};
use crate::{Key, Range, Revision, Snapshot};

sentences![
    a_snapshot_does_not_see_later_writes,
    objects_come_in_the_order_of_their_paths,
    a_prefix_narrows_a_range_and_a_count,
    a_start_is_where_a_range_begins,
    a_limit_cuts_a_range_and_says_how_many_remain,
    paging_shows_every_object_once_whatever_is_written_meanwhile,
    collections_do_not_mix,
    what_was_never_written_is_empty,
];

/// Paths whose order as bytes differs from the order of their parts.
const PATHS: &[&str] = &[
    "a",
    "a-b/x",
    "a/",
    "a/b",
    "a/b-c",
    "a/b/c",
    "a0",
    "ab/x",
    "b/",
    "b/a",
    "b/z",
    "é/x",
    "\u{10FFFF}",
];

async fn a_snapshot_does_not_see_later_writes(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let a = it.create("a", "one").await?;
    let b = it.create("b", "one").await?;
    let before = it.now().await?;
    it.update(&a, "two").await?;
    it.delete(&b).await?;
    it.create("c", "one").await?;
    ensure_eq!(
        before.revision(),
        b.revision,
        "the revision of the snapshot"
    );
    let shown = lines(&*before, COLLECTION, "").await?;
    ensure_eq!(shown, vec![line(&a), line(&b)], "what the snapshot shows");
    ensure_eq!(before.count(COLLECTION, "").await?, 2, "its count");
    ensure!(
        before.get(&key("c")).await?.is_none(),
        "it shows a later object"
    );
    let read = before.get(&key("b")).await?.as_ref().map(line);
    ensure_eq!(read, Some(line(&b)), "an object that was deleted later");
    Ok(())
}

async fn objects_come_in_the_order_of_their_paths(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    for path in PATHS.iter().rev() {
        it.create(path, "one").await?;
    }
    let shown = lines(&*it.now().await?, COLLECTION, "").await?;
    let paths: Vec<_> = shown.iter().map(|(path, ..)| path.as_str()).collect();
    ensure_eq!(paths, PATHS, "the order");
    Ok(())
}

async fn a_prefix_narrows_a_range_and_a_count(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    for path in PATHS {
        it.create(path, "one").await?;
    }
    let now = it.now().await?;
    for prefix in [
        "",
        "a",
        "a/",
        "a/b",
        "b/",
        "b/a",
        "c",
        "é",
        "\u{10FFFF}",
        "\u{10FFFF}\u{10FFFF}",
    ] {
        let expected: Vec<_> = PATHS
            .iter()
            .filter(|path| path.starts_with(prefix))
            .collect();
        let shown = lines(&*now, COLLECTION, prefix).await?;
        let paths: Vec<_> = shown.iter().map(|(path, ..)| path).collect();
        ensure_eq!(paths, expected, "what starts with {prefix:?}");
        let count = now.count(COLLECTION, prefix).await?;
        ensure_eq!(
            count,
            expected.len() as u64,
            "how many start with {prefix:?}"
        );
    }
    Ok(())
}

async fn a_start_is_where_a_range_begins(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    for path in PATHS {
        it.create(path, "one").await?;
    }
    let now = it.now().await?;
    for prefix in ["", "a/", "b"] {
        for start in ["", "a/b", "a/b\0", "a/c", "b", "b/a", "b/z\0", "zz"] {
            let range = Range {
                prefix: prefix.into(),
                start: start.into(),
                limit: 0,
            };
            let page = now.range(COLLECTION, range).await?;
            let paths: Vec<_> = page.entries.iter().map(|entry| &*entry.path).collect();
            let expected = PATHS
                .iter()
                .filter(|p| p.starts_with(prefix) && **p >= start);
            let expected: Vec<_> = expected.copied().collect();
            ensure_eq!(
                paths,
                expected,
                "what starts with {prefix:?} from {start:?} on"
            );
        }
    }
    Ok(())
}

async fn a_limit_cuts_a_range_and_says_how_many_remain(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    for path in PATHS {
        it.create(path, "one").await?;
    }
    let now = it.now().await?;
    for prefix in ["", "a/", "c"] {
        let all: Vec<_> = PATHS
            .iter()
            .filter(|path| path.starts_with(prefix))
            .collect();
        for limit in 1..=all.len() + 1 {
            let range = Range {
                prefix: prefix.into(),
                start: String::new(),
                limit,
            };
            let page = now.range(COLLECTION, range).await?;
            let paths: Vec<_> = page.entries.iter().map(|entry| &*entry.path).collect();
            let (expected, rest) = all.split_at(limit.min(all.len()));
            let expected: Vec<_> = expected.iter().map(|path| **path).collect();
            ensure_eq!(paths, expected, "the first {limit} of {prefix:?}");
            ensure_eq!(
                page.remaining,
                rest.len() as u64,
                "after {limit} of {prefix:?}"
            );
        }
    }
    Ok(())
}

async fn paging_shows_every_object_once_whatever_is_written_meanwhile(
    harness: &dyn Harness,
) -> Verdict {
    let it = harness.open().await;
    let mut entries = Vec::new();
    for n in 0..40 {
        entries.push(it.create(&format!("ns-{}/x-{n:02}", n % 3), "one").await?);
    }
    let revision = it.current().await?;
    let whole = lines(&*it.now().await?, COLLECTION, "ns-").await?;
    ensure_eq!(whole.len(), entries.len(), "how many objects there are");
    for (n, entry) in entries.iter().enumerate() {
        match n % 4 {
            0 => drop(it.delete(entry).await?),
            1 => drop(it.update(entry, "two").await?),
            _ => drop(it.create(&format!("{}-new", entry.path), "one").await?),
        }
        if n % 10 == 0 {
            let paged = paged(&*it.at(revision).await?, revision, 7).await?;
            ensure_eq!(paged, whole, "the pages put together");
        }
    }
    Ok(())
}

async fn paged(snapshot: &dyn Snapshot, revision: Revision, limit: usize) -> Verdict<Vec<Line>> {
    ensure_eq!(
        snapshot.revision(),
        revision,
        "the revision of the snapshot"
    );
    let total = snapshot.count(COLLECTION, "ns-").await?;
    let mut all = Vec::new();
    let mut start = String::new();
    loop {
        let range = Range {
            prefix: "ns-".into(),
            start,
            limit,
        };
        let page = snapshot.range(COLLECTION, range).await?;
        all.extend(page.entries.iter().map(line));
        let known = all.len() as u64 + page.remaining;
        ensure_eq!(known, total, "those seen and those that remain");
        match page.entries.last() {
            Some(last) if page.remaining > 0 => start = format!("{}\0", last.path),
            _ => return Ok(all),
        }
    }
}

async fn collections_do_not_mix(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let names = [
        "pods",
        "pod",
        "pods/x",
        "example.org/pods",
        "pods.example.org",
    ];
    for name in names {
        it.store.create(Key::new(name, "a/b"), object(name)).await?;
    }
    let now = it.now().await?;
    for name in names {
        let shown = lines(&*now, name, "").await?;
        let paths: Vec<_> = shown.iter().map(|(path, ..)| path.as_str()).collect();
        ensure_eq!(paths, ["a/b"], "what {name} holds");
        let read = it.store.get(&Key::new(name, "a/b")).await?;
        let bytes = read.map(|entry| entry.bytes.to_vec()).unwrap_or_default();
        let says = format!("\"says\":\"{name}\"");
        ensure!(
            String::from_utf8_lossy(&bytes).contains(&says),
            "{name} holds the object of another collection"
        );
    }
    Ok(())
}

async fn what_was_never_written_is_empty(harness: &dyn Harness) -> Verdict {
    let it = harness.open().await;
    let now = it.now().await?;
    ensure!(
        lines(&*now, "nothing", "").await?.is_empty(),
        "something is there"
    );
    ensure_eq!(now.count("nothing", "").await?, 0, "a count of nothing");
    ensure!(
        now.get(&Key::new("nothing", "a")).await?.is_none(),
        "something is there"
    );
    ensure!(
        it.store.get(&key("a")).await?.is_none(),
        "something is there"
    );
    ensure_eq!(now.revision(), it.current().await?, "the revision");
    Ok(())
}
