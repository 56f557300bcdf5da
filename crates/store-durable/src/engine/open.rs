//! Opens a store: recovers it, or creates the files of a new one.

use std::{io, sync::Arc};

use kubewright_store::{Revision, engine::Staged};
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::{Accepting, Alarm, Engine, Group, Pending, maintenance::Maintenance};
use crate::{
    checkpoint::{self, Written},
    clock::Wall,
    disk::{Disk, How, read_file, replace_file, write_all},
    error::Trouble,
    format::{
        CHECKPOINTS, FORMAT, QUARANTINE, WAL,
        identity::{self, Identity, STORE},
    },
    log::{LogWriter, Place, Segment, Spares, has_frames, list_segments},
    options::Options,
    recovery::{LogEnd, Recovery},
    stats::Counters,
};

/// An open store.
pub(crate) struct Opened {
    pub(crate) engine: Engine,
    pub(crate) report: OpenReport,
}

/// A report about opening a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Whether the store is new.
    pub created: bool,
    /// The newest revision.
    pub revision: Revision,
    /// The revision of the checkpoint that was read.
    pub checkpoint: Option<Revision>,
    /// The file with a copy of an incomplete frame that was removed from the end of the log: a write that was never acknowledged.
    pub quarantined: Option<String>,
    /// Warnings for the administrator.
    pub warnings: Vec<String>,
}

/// The names that a data directory may contain before it has the file `STORE`.
const NAMES: [&str; 7] = [
    "LOCK",
    "STORE",
    "STORE.tmp",
    WAL,
    CHECKPOINTS,
    QUARANTINE,
    "keys",
];

/// Reads the identity of a store. Returns `None` if the directory is empty, or if the creation of a store was interrupted.
pub(crate) fn read_identity(disk: &dyn Disk) -> Result<Option<Identity>, Trouble> {
    let bytes = match read_file(disk, STORE, identity::MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return check_new(disk).map(|()| None);
        }
        Err(error) => return Err(Trouble::io("read STORE")(error)),
    };
    let text = String::from_utf8(bytes).ok();
    let Some(identity) = text.as_deref().and_then(Identity::parse) else {
        let problem = "it does not describe a store";
        return Err(Trouble::damage(STORE, None, problem, None));
    };
    match identity.min_reader > FORMAT {
        true => Err(Trouble::Newer(identity.format)),
        false => Ok(Some(identity)),
    }
}

/// Checks that a directory without `STORE` contains neither foreign files nor writes.
fn check_new(disk: &dyn Disk) -> Result<(), Trouble> {
    let names = disk.list("").map_err(Trouble::io("list files"))?;
    if let Some(found) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(Trouble::Foreign(found.clone()));
    }
    let missing = || Trouble::damage(STORE, None, "it is missing", None);
    if names.iter().any(|name| name == CHECKPOINTS) && !checkpoint::list(disk)?.is_empty() {
        return Err(missing());
    }
    if !names.iter().any(|name| name == WAL) {
        return Ok(());
    }
    for name in list_segments(disk)? {
        let header = crate::format::segment::SegmentHeader::decode(
            &read_file(disk, &name.path(), crate::format::segment::MAX_SEGMENT)
                .map_err(Trouble::io("read the log"))?,
        );
        let is_empty = match header {
            Ok(header) => !has_frames(&Segment::read(disk, &name, &header.store)?),
            Err(_) => false,
        };
        if name.sequence != 1 || !is_empty {
            return Err(missing());
        }
    }
    Ok(())
}

impl Engine {
    /// Opens the store of a disk.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        options: Options,
        name: &str,
    ) -> Result<Opened, Trouble> {
        let identity = match read_identity(&*disk)? {
            Some(identity) => identity,
            None => return Self::create(disk, options, name),
        };
        for folder in [WAL, CHECKPOINTS] {
            let synced = disk.sync_folder(folder);
            synced.map_err(Trouble::io(format!("sync {folder}")))?;
        }
        disk.create_folder(QUARANTINE)
            .map_err(Trouble::io("create a folder"))?;
        if let Some(last) = list_segments(&*disk)?.last() {
            // Data that is read must be on disk.
            let synced = disk
                .open(&last.path(), How::Write)
                .and_then(|file| file.sync());
            synced.map_err(Trouble::io("sync the log"))?;
        }
        let mut wall = Wall::new(options.clock.clone());
        let recovery = Recovery {
            disk: &*disk,
            store: identity.id,
            limits: &options.limits,
            until: Revision(u64::MAX),
        };
        let recovered = recovery.run(&mut wall)?;
        remove_temporary(&*disk);
        let newest = checkpoint::list(&*disk)?.first().copied();
        let spares = Arc::new(Spares::default());
        let torn = recovered.end.torn.is_some();
        let (writer, quarantined) = resume(&disk, &spares, &options, identity.id, recovered.end)
            .map_err(Trouble::io("prepare the log"))?;
        let report = OpenReport {
            created: false,
            revision: recovered.store.contents().revision(),
            checkpoint: recovered.base,
            quarantined,
            warnings: recovered.warnings,
        };
        let maintenance = Maintenance {
            last: newest.map(|revision| Written {
                revision,
                raw_bytes: 0,
            }),
            log_bytes: 0,
            sequence: writer.sequence(),
        };
        debug_assert_eq!(torn, report.quarantined.is_some());
        let counters = Counters::starting_with(recovered.log_bytes);
        let engine = Self {
            pending: Mutex::new(Pending::new(&recovered.store)),
            published: recovered.store,
            disk,
            id: identity.id,
            options,
            name: name.to_owned(),
            wall,
            work: Condvar::new(),
            room: Notify::new(),
            writer: Mutex::new(writer),
            spares,
            counters,
            maintenance: Mutex::new(maintenance),
            alarm: Alarm::default(),
        };
        Ok(Opened { engine, report })
    }

    /// Creates a store in an empty directory. The file `STORE` is written last.
    fn create(disk: Arc<dyn Disk>, options: Options, name: &str) -> Result<Opened, Trouble> {
        let id: [u8; 16] = rand::random();
        let first = options.first_revision;
        let spares = Arc::new(Spares::default());
        let made = || -> io::Result<LogWriter> {
            for folder in [WAL, CHECKPOINTS, QUARANTINE] {
                disk.create_folder(folder)?;
            }
            for name in disk.list(WAL)? {
                disk.remove(&format!("{WAL}/{name}"))?;
            }
            disk.sync_folder(WAL)?;
            let place = Place {
                number: 1,
                chain: 0,
                revision: first,
            };
            let writer = LogWriter::begin(
                Arc::clone(&disk),
                Arc::clone(&spares),
                id,
                1,
                options.first_segment(),
                place,
                options.segment_bytes,
            )?;
            replace_file(&*disk, "", STORE, Identity::new(id).encode().as_bytes())?;
            Ok(writer)
        };
        let writer = made().map_err(Trouble::io("create a store"))?;
        let published = kubewright_store::MemoryStore::with_limits(first, options.limits.clone());
        let engine = Self {
            pending: Mutex::new(Pending::new(&published)),
            published,
            disk,
            id,
            wall: Wall::new(options.clock.clone()),
            options,
            name: name.to_owned(),
            work: Condvar::new(),
            room: Notify::new(),
            writer: Mutex::new(writer),
            spares,
            counters: Counters::starting_with(0),
            maintenance: Mutex::new(Maintenance {
                sequence: 1,
                ..Maintenance::default()
            }),
            alarm: Alarm::default(),
        };
        let report = OpenReport {
            created: true,
            revision: first,
            ..OpenReport::default()
        };
        Ok(Opened { engine, report })
    }
}

impl Pending {
    fn new(store: &kubewright_store::MemoryStore) -> Self {
        Self {
            staged: Staged::of(store),
            open: Group::new(),
            in_flight: None,
            state: Accepting::Yes,
            full: None,
            closing: false,
        }
    }
}

/// Continues the log. After an incomplete frame, it continues in a new segment, so that no bytes are overwritten.
fn resume(
    disk: &Arc<dyn Disk>,
    spares: &Arc<Spares>,
    options: &Options,
    id: [u8; 16],
    end: LogEnd,
) -> io::Result<(LogWriter, Option<String>)> {
    for unused in &end.unused {
        disk.remove(&unused.path())?;
    }
    if !end.unused.is_empty() {
        disk.sync_folder(WAL)?;
    }
    let (disk_of, spares_of) = (Arc::clone(disk), Arc::clone(spares));
    let Some(torn) = &end.torn else {
        let position = end.position as u64;
        let max = options.segment_bytes;
        let writer = LogWriter::resume(disk_of, spares_of, end.header, position, end.place, max)?;
        return Ok((writer, None));
    };
    let (sequence, position) = (end.header.sequence, end.position);
    let copy = format!("{QUARANTINE}/{sequence:020}-{position}.torn");
    let file = disk.open(&copy, How::Create)?;
    write_all(&*file, torn, 0)?;
    file.sync()?;
    disk.sync_folder(QUARANTINE)?;
    let writer = LogWriter::begin(
        disk_of,
        spares_of,
        id,
        sequence + 1,
        options.first_segment(),
        end.place,
        options.segment_bytes,
    )?;
    Ok((writer, Some(copy)))
}

/// Removes unfinished checkpoints.
fn remove_temporary(disk: &dyn Disk) {
    let names = disk.list(CHECKPOINTS).unwrap_or_default();
    for name in names.iter().filter(|name| name.ends_with(".tmp")) {
        // If this fails, it only wastes space.
        let _ = disk.remove(&format!("{CHECKPOINTS}/{name}"));
    }
}
