//! Recovery: restores the state in memory and the end of the log from the files.

use kubewright_store::{
    Limits, MemoryStore, Payload, Revision,
    engine::{Applied, Staged, Stored},
};

use crate::{
    checkpoint,
    clock::{Now, Wall},
    disk::Disk,
    error::Trouble,
    format::{
        checkpoint as format,
        record::Record,
        segment::{SegmentHeader, SegmentName},
    },
    log::{Place, Scan, Segment, Stop, has_frames, list_segments, newest_time},
};

/// The recovered state of a store.
pub(crate) struct Recovered {
    pub(crate) store: MemoryStore,
    pub(crate) end: LogEnd,
    /// The revision of the checkpoint that was used.
    pub(crate) base: Option<Revision>,
    /// The size of the log since the newest checkpoint.
    pub(crate) log_bytes: u64,
    /// Warnings about unusable files that were not needed.
    pub(crate) warnings: Vec<String>,
}

/// The end of the log.
pub(crate) struct LogEnd {
    pub(crate) header: SegmentHeader,
    pub(crate) position: usize,
    pub(crate) place: Place,
    /// The bytes of an incomplete frame.
    pub(crate) torn: Option<Vec<u8>>,
    /// Segments that were created but not used.
    pub(crate) unused: Vec<SegmentName>,
}

/// The constant inputs of recovery.
pub(crate) struct Recovery<'a> {
    pub(crate) disk: &'a dyn Disk,
    pub(crate) store: [u8; 16],
    pub(crate) limits: &'a Limits,
    /// The last revision to apply.
    pub(crate) until: Revision,
}

impl Recovery<'_> {
    /// Recovers the store, and records the last known time in `wall`.
    pub(crate) fn run(&self, wall: &mut Wall) -> Result<Recovered, Trouble> {
        let segments = list_segments(self.disk)?;
        let mut warnings = Vec::new();
        if let Some(behind) = wall.passed(self.last_known_time(&segments)) {
            let seconds = behind / 1000;
            warnings.push(format!(
                "the clock is {seconds} s behind the last write; lifetimes are counted from that write on"
            ));
        }
        let now = wall.now();
        let checkpoints = checkpoint::list(self.disk)?;
        let usable = |revision: &&Revision| **revision <= self.until;
        let newest_first: Vec<Revision> = checkpoints.iter().filter(usable).copied().collect();
        let mut first_error = None;
        for base in self.bases(&newest_first, &now) {
            match self.from(base, &segments, &now) {
                Ok(mut recovered) => {
                    warnings.append(&mut recovered.warnings);
                    recovered.warnings = warnings;
                    let newest = newest_first.first().copied();
                    recovered.log_bytes = self.log_bytes(&segments, newest);
                    return Ok(recovered);
                }
                Err(error) => {
                    warnings.push(error.to_string());
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(first_error.unwrap_or_else(|| {
            Trouble::damage(
                format::path(Revision(0)),
                None,
                "there is no checkpoint",
                None,
            )
        }))
    }

    /// Returns the checkpoints to try, in order. If the newest is so young that watches could still resume before it, the
    /// previous one is first, since it provides more history.
    fn bases(&self, newest_first: &[Revision], now: &Now) -> Vec<Option<Revision>> {
        let mut bases: Vec<Option<Revision>> = newest_first.iter().copied().map(Some).collect();
        let Some(newest) = newest_first.first() else {
            return vec![None];
        };
        let header = checkpoint::read_header(self.disk, &format::path(*newest), &self.store);
        let is_young = header.is_ok_and(|header| {
            let age = now.wall.saturating_sub(header.time);
            u128::from(age) < self.limits.max_age.as_millis()
        });
        if is_young && bases.len() > 1 {
            bases.swap(0, 1);
        }
        // The first segment of a store needs no checkpoint.
        bases.push(None);
        bases
    }

    fn from(
        &self,
        base: Option<Revision>,
        segments: &[SegmentName],
        now: &Now,
    ) -> Result<Recovered, Trouble> {
        let (store, start) = match base {
            Some(revision) => (self.load(revision, now)?, revision),
            None => match segments.first() {
                Some(first) if first.sequence == 1 => {
                    let before = Revision(first.first_revision.0.saturating_sub(1));
                    let limits = self.limits.clone();
                    (MemoryStore::with_limits(before, limits), before)
                }
                _ => {
                    return Err(Trouble::damage(
                        "checkpoints",
                        None,
                        "there is no checkpoint, and the log does not reach back to its beginning",
                        None,
                    ));
                }
            },
        };
        let next = Revision(start.0.saturating_add(1));
        let begin = segments.iter().rposition(|s| s.first_revision <= next);
        let Some(begin) = begin.and_then(|at| segments.get(at)) else {
            return Err(Trouble::damage(
                "wal",
                None,
                format!("the segment with revision {} is missing", next.0),
                Some(start),
            ));
        };
        // The first of the segments that begin at the same revision.
        let after: Vec<&SegmentName> = segments
            .iter()
            .filter(|s| s.first_revision >= begin.first_revision)
            .collect();
        let end = self.replay(&store, start, &after, now)?;
        if end.place.revision < start {
            let problem = format!("it ends before revision {} of a checkpoint", start.0);
            let name = end.header.name().path();
            let intact = Some(end.place.revision);
            return Err(Trouble::damage(name, None, problem, intact));
        }
        Ok(Recovered {
            store,
            end,
            base,
            log_bytes: 0,
            warnings: Vec::new(),
        })
    }

    fn load(&self, revision: Revision, now: &Now) -> Result<MemoryStore, Trouble> {
        let limits = self.limits.clone();
        let store = MemoryStore::with_limits(revision, limits);
        let mut staged = Staged::of(&store);
        let name = format::path(revision);
        let header = checkpoint::load(self.disk, &name, &self.store, |object| {
            let lifetime = object
                .lifetime
                .map(|lifetime| (lifetime.ttl, now.instant_of(lifetime.deadline)));
            let stored = Stored {
                path: object.path,
                revision: object.revision,
                bytes: object.bytes,
                revision_at: object.revision_at,
                lifetime,
            };
            staged.load(&object.collection, stored);
        })?;
        if header.revision != revision {
            return Err(Trouble::damage(
                name,
                None,
                format!("it is of revision {}", header.revision.0),
                None,
            ));
        }
        staged.start_at(revision);
        staged.take().publish();
        Ok(store)
    }

    /// Replays the log after a revision.
    fn replay(
        &self,
        store: &MemoryStore,
        start: Revision,
        names: &[&SegmentName],
        now: &Now,
    ) -> Result<LogEnd, Trouble> {
        let mut staged = Staged::of(store);
        let mut rest = names.iter().copied().peekable();
        let mut upcoming: Option<Segment> = None;
        loop {
            let Some(name) = rest.next() else {
                return Err(Trouble::damage("wal", None, "there is no segment", None));
            };
            let segment = match upcoming.take() {
                Some(segment) => segment,
                None => Segment::read(self.disk, name, &self.store)?,
            };
            if let Some(next) = rest.peek() {
                if next.sequence != name.sequence + 1 {
                    let missing = format!("segment {} is missing", name.sequence + 1);
                    return Err(Trouble::damage("wal", None, missing, None));
                }
                upcoming = Some(Segment::read(self.disk, next, &self.store)?);
            }
            let next = upcoming.as_ref();
            let mut scan = Scan::new(&segment, next.map(|next| next.header.first_frame));
            let stop = loop {
                match scan.next()? {
                    Ok(frame) => {
                        let at = now.instant_of(frame.time);
                        self.apply(&mut staged, start, frame.first, frame.records, at, now)
                            .map_err(|problem| scan.damage(&problem))?;
                    }
                    Err(stop) => break stop,
                }
            };
            staged.take().publish();
            if let Some(next) = next
                && scan.place.number == next.header.first_frame
            {
                if scan.place.chain != next.header.chain && !planted!(AcceptWrongChain) {
                    let problem = "it does not follow the segment before it";
                    let intact = Some(scan.place.revision);
                    return Err(Trouble::damage(next.path.clone(), None, problem, intact));
                }
                continue;
            }
            if stop == Stop::End {
                let file = SegmentName {
                    sequence: name.sequence + 1,
                    first_revision: Revision(scan.place.revision.0 + 1),
                };
                let intact = Some(scan.place.revision);
                return Err(Trouble::damage(file.path(), None, "it is missing", intact));
            }
            let (position, place) = (scan.position, scan.place);
            let unused = match next {
                None => Vec::new(),
                Some(next) => {
                    let mut unused: Vec<&SegmentName> = rest.clone().collect();
                    self.check_unused(&scan, next, &mut unused)?;
                    unused.into_iter().cloned().collect()
                }
            };
            let torn = match stop {
                Stop::Torn(to) => segment.bytes.get(position..to).map(<[u8]>::to_vec),
                _ => None,
            };
            return Ok(LogEnd {
                header: segment.header,
                position,
                place,
                torn,
                unused,
            });
        }
    }

    /// Checks that later segments have no frames; otherwise, the log is damaged.
    fn check_unused(
        &self,
        scan: &Scan<'_>,
        next: &Segment,
        later: &mut [&SegmentName],
    ) -> Result<(), Trouble> {
        let problem = "frames are missing, and there are frames after them";
        if has_frames(next) {
            return Err(scan.damage(problem));
        }
        for name in later.iter().skip(1) {
            if has_frames(&Segment::read(self.disk, name, &self.store)?) {
                return Err(scan.damage(problem));
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        staged: &mut Staged,
        start: Revision,
        first: Revision,
        records: Vec<Record>,
        at: tokio::time::Instant,
        now: &Now,
    ) -> Result<(), String> {
        let mut revision = first;
        for record in records {
            let applied = match record {
                Record::Compact(floor) => {
                    if floor > start && floor <= self.until {
                        // The oldest readable revision never exceeds the published one, which equals the staged one here.
                        staged.take().publish();
                        let compacted = staged.compact(floor);
                        compacted.map_err(|error| error.to_string())?;
                    }
                    continue;
                }
                Record::Put { key, object, .. } => Applied {
                    key,
                    payload: Some(Payload {
                        revision_at: object.revision_at,
                        ttl: object.lifetime.map(|lifetime| lifetime.ttl),
                        ..Payload::plain(object.bytes)
                    }),
                    deadline: object.lifetime.map(|l| now.instant_of(l.deadline)),
                },
                Record::Delete { key, .. } => Applied {
                    key,
                    payload: None,
                    deadline: None,
                },
            };
            if revision > start && revision <= self.until {
                let is_delete = applied.payload.is_none();
                let changes = staged
                    .apply(revision, [applied], at)
                    .map_err(|error| error.to_string())?;
                if is_delete && changes.is_empty() {
                    return Err("it deletes an object that does not exist".to_owned());
                }
            }
            revision = Revision(revision.0 + 1);
        }
        Ok(())
    }

    fn last_known_time(&self, segments: &[SegmentName]) -> u64 {
        let last_two = segments.iter().rev().take(2);
        let times = last_two.filter_map(|name| {
            let segment = Segment::read(self.disk, name, &self.store).ok()?;
            Some(newest_time(&segment))
        });
        times.max().unwrap_or(0)
    }

    fn log_bytes(&self, segments: &[SegmentName], newest: Option<Revision>) -> u64 {
        let after = newest.unwrap_or_default();
        let later = segments.iter().filter(|s| s.first_revision > after).count() as u64;
        later.saturating_mul(self.segment_len(segments.last()))
    }

    fn segment_len(&self, name: Option<&SegmentName>) -> u64 {
        let file = name.and_then(|name| self.disk.open(&name.path(), crate::disk::How::Read).ok());
        file.and_then(|file| file.len().ok()).unwrap_or(0)
    }
}

/// Returns limits that keep the whole history, for tools.
pub(crate) fn unlimited() -> Limits {
    Limits {
        max_changes: u64::MAX,
        max_age: std::time::Duration::MAX,
        max_bytes: usize::MAX,
        max_lag: u64::MAX,
    }
}
