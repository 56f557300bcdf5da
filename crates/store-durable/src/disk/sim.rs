//! A simulated disk that can lose power: unsynced sectors and names are kept, lost or corrupted.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
};

use parking_lot::Mutex;

use super::{Disk, DiskFile, How};
use crate::tests::{Rng, on_disk_call};

/// The size of a sector, which is written atomically.
const SECTOR: usize = 512;

/// A simulated disk. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct SimDisk {
    world: Arc<Mutex<World>>,
}

/// The effect of a power failure on unsynced data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// All of it is lost.
    Lose,
    /// All of it is kept: only the process was killed.
    Keep,
    /// Each sector and each name is kept or lost at random; sectors may contain garbage.
    Mixed,
}

/// A failure of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The call fails; a sync then drops what was not synced, and the next one succeeds.
    Eio,
    /// Writes are short.
    ShortWrites,
}

#[derive(Default)]
struct World {
    files: Vec<FileState>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    pending: Vec<NameChange>,
    folders: BTreeSet<String>,
    calls: u64,
    eio_at: Option<u64>,
    short_writes: Option<Rng>,
    capacity: Option<u64>,
}

#[derive(Clone, Default)]
struct FileState {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
}

#[derive(Clone)]
struct NameChange {
    add: Option<(String, usize)>,
    remove: Option<String>,
}

struct SimFile {
    disk: SimDisk,
    id: usize,
}

impl SimDisk {
    /// Returns the disk after a power failure. The original is not affected.
    pub(crate) fn after(&self, cut: Cut, rng: &mut Rng) -> SimDisk {
        let world = self.world.lock();
        let mut names = match cut {
            Cut::Keep => world.names.clone(),
            Cut::Lose | Cut::Mixed => world.durable_names.clone(),
        };
        if cut == Cut::Mixed {
            for change in &world.pending {
                if rng.chance(2) {
                    change.apply(&mut names);
                }
            }
        }
        let files: Vec<FileState> = world
            .files
            .iter()
            .map(|file| file.after(cut, rng))
            .collect();
        SimDisk {
            world: Arc::new(Mutex::new(World {
                files,
                durable_names: names.clone(),
                names,
                folders: world.folders.clone(),
                ..World::default()
            })),
        }
    }

    /// Makes the disk fail from now on.
    pub(crate) fn inject(&self, fault: Fault, rng: &mut Rng) {
        let mut world = self.world.lock();
        match fault {
            Fault::Eio => world.eio_at = Some(world.calls + rng.below(60)),
            Fault::ShortWrites => world.short_writes = Some(Rng::new(rng.next())),
        }
    }

    /// Makes the next call fail.
    pub(crate) fn fail_next(&self) {
        let mut world = self.world.lock();
        world.eio_at = Some(world.calls);
    }

    /// Limits the total size of all files.
    pub(crate) fn set_capacity(&self, bytes: Option<u64>) {
        self.world.lock().capacity = bytes;
    }

    /// Returns the total size of all files.
    pub(crate) fn used(&self) -> u64 {
        self.world.lock().used()
    }

    /// Returns the number of calls that modified the disk.
    pub(crate) fn calls(&self) -> u64 {
        self.world.lock().calls
    }

    /// Returns the bytes of a file.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let world = self.world.lock();
        let id = world.names.get(name)?;
        Some(world.files.get(*id)?.bytes.clone())
    }

    /// Sets the bytes of a file, durably.
    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) {
        let mut world = self.world.lock();
        let file = FileState {
            durable: bytes.clone(),
            bytes,
            dirty: BTreeSet::new(),
        };
        world.files.push(file);
        let id = world.files.len() - 1;
        world.names.insert(name.to_owned(), id);
        world.durable_names.insert(name.to_owned(), id);
    }

    /// Returns the names of all files.
    pub(crate) fn names(&self) -> Vec<String> {
        self.world.lock().names.keys().cloned().collect()
    }

    fn call(&self) -> io::Result<()> {
        on_disk_call(self);
        let mut world = self.world.lock();
        world.calls += 1;
        if world.eio_at.is_some_and(|at| world.calls > at) {
            world.eio_at = None;
            return Err(io::Error::other("input/output error"));
        }
        Ok(())
    }
}

impl World {
    fn used(&self) -> u64 {
        let ids: BTreeSet<usize> = self.names.values().copied().collect();
        let sizes = ids.iter().filter_map(|id| self.files.get(*id));
        sizes.map(|file| file.bytes.len() as u64).sum()
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        if let Some(name) = &self.remove {
            names.remove(name);
        }
        if let Some((name, id)) = &self.add {
            names.insert(name.clone(), *id);
        }
    }

    fn is_in(&self, folder: &str) -> bool {
        let inside = |name: &str| name.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
        let add = self.add.as_ref().map(|(name, _)| name);
        [add, self.remove.as_ref()]
            .into_iter()
            .flatten()
            .any(|name| inside(name))
    }
}

impl FileState {
    fn after(&self, cut: Cut, rng: &mut Rng) -> FileState {
        let bytes = match cut {
            Cut::Keep => self.bytes.clone(),
            Cut::Lose => self.durable.clone(),
            Cut::Mixed => {
                let mut image = self.durable.clone();
                if self.bytes.len() != image.len() && rng.chance(2) {
                    image.resize(self.bytes.len(), 0);
                }
                for sector in &self.dirty {
                    let from = sector * SECTOR;
                    let to = (from + SECTOR).min(image.len());
                    let Some(place) = image.get_mut(from..to) else {
                        continue;
                    };
                    match rng.below(16) {
                        0 => place.iter_mut().for_each(|byte| *byte = rng.next() as u8),
                        n if n % 2 == 0 => {}
                        _ => {
                            let new = self.bytes.get(from..to).unwrap_or_default();
                            if let Some(place) = place.get_mut(..new.len()) {
                                place.copy_from_slice(new);
                            }
                        }
                    }
                }
                image
            }
        };
        FileState {
            durable: bytes.clone(),
            bytes,
            dirty: BTreeSet::new(),
        }
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str, how: How) -> io::Result<Box<dyn DiskFile>> {
        if how == How::Create {
            self.call()?;
        }
        let mut world = self.world.lock();
        let existing = world.names.get(name).copied();
        let id = match (how, existing) {
            (How::Read | How::Write, Some(id)) => id,
            (How::Read | How::Write, None) => return Err(io::ErrorKind::NotFound.into()),
            (How::Create, _) => {
                world.files.push(FileState::default());
                let id = world.files.len() - 1;
                world.change(NameChange {
                    add: Some((name.to_owned(), id)),
                    remove: None,
                });
                id
            }
        };
        drop(world);
        let disk = self.clone();
        Ok(Box::new(SimFile { disk, id }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.call()?;
        let mut world = self.world.lock();
        let id = *world.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        world.change(NameChange {
            add: Some((to.to_owned(), id)),
            remove: Some(from.to_owned()),
        });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.call()?;
        let mut world = self.world.lock();
        if !world.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        world.change(NameChange {
            add: None,
            remove: Some(name.to_owned()),
        });
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let world = self.world.lock();
        if !folder.is_empty() && !world.folders.contains(folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let prefix = match folder {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let inside = world.names.keys().filter_map(|n| n.strip_prefix(&prefix));
        let mut names: BTreeSet<String> = inside
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect();
        if folder.is_empty() {
            names.extend(world.folders.iter().cloned());
        }
        Ok(names.into_iter().collect())
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.call()?;
        self.world.lock().folders.insert(folder.to_owned());
        Ok(())
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.call()?;
        let mut world = self.world.lock();
        let pending = std::mem::take(&mut world.pending);
        for change in pending {
            if change.is_in(folder) {
                change.apply(&mut world.durable_names);
            } else {
                world.pending.push(change);
            }
        }
        Ok(())
    }

    fn free_space(&self) -> Option<u64> {
        let world = self.world.lock();
        let capacity = world.capacity?;
        Some(capacity.saturating_sub(world.used()))
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let world = self.disk.world.lock();
        Ok(world.files[self.id].bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let world = self.disk.world.lock();
        let bytes = &world.files[self.id].bytes;
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.disk.call()?;
        let mut world = self.disk.world.lock();
        let mut len = bytes.len();
        if let Some(rng) = &mut world.short_writes
            && len > 1
            && rng.chance(4)
        {
            len = 1 + rng.below(len as u64 - 1) as usize;
        }
        let end = offset as usize + len;
        let grown = end.saturating_sub(world.files[self.id].bytes.len()) as u64;
        if world
            .capacity
            .is_some_and(|most| world.used() + grown > most)
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let file = &mut world.files[self.id];
        if file.bytes.len() < end {
            file.bytes.resize(end, 0);
        }
        file.bytes[offset as usize..end].copy_from_slice(&bytes[..len]);
        let sectors = offset as usize / SECTOR..end.div_ceil(SECTOR);
        file.dirty.extend(sectors);
        Ok(len)
    }

    fn sync(&self) -> io::Result<()> {
        let called = self.disk.call();
        let mut world = self.disk.world.lock();
        let file = &mut world.files[self.id];
        if called.is_ok() {
            let FileState { bytes, durable, .. } = file;
            durable.resize(bytes.len(), 0);
            for sector in &file.dirty {
                let from = sector * SECTOR;
                let to = (from + SECTOR).min(bytes.len());
                if from < to {
                    durable[from..to].copy_from_slice(&bytes[from..to]);
                }
            }
        }
        // After a failed sync, the pages count as clean, and the next sync succeeds without writing them.
        file.dirty.clear();
        called
    }
}
