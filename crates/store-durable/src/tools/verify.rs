//! Verifies every file of a data directory.

use kubewright_store::Revision;

use super::DataFiles;
use crate::{
    Damage, OpenError, checkpoint,
    error::Trouble,
    format::checkpoint as format,
    log::{Scan, Segment, Stop, list_segments},
};

/// The result of verifying a data directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The number of intact checkpoints.
    pub checkpoints: u64,
    /// The number of objects in them.
    pub objects: u64,
    /// The number of intact segments.
    pub segments: u64,
    /// The number of changes in them.
    pub changes: u64,
    /// Whether the log ends with an interrupted write, which was never acknowledged.
    pub torn: bool,
    /// The damage.
    pub problems: Vec<Damage>,
}

impl DataFiles {
    /// Verifies every checksum, the order of the log, and that the store can be opened.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read. Damage is part of the result.
    pub fn verify(&self) -> Result<Verified, OpenError> {
        let mut verified = Verified::default();
        let checked = self.verify_checkpoints(&mut verified);
        let checked = checked.and_then(|()| self.verify_log(&mut verified));
        checked.map_err(|trouble| trouble.at(self.path.clone()))?;
        if let Err(OpenError::Corrupt { damage, .. }) = self.recover(Revision(u64::MAX))
            && !verified.problems.contains(&damage)
        {
            verified.problems.push(damage);
        }
        Ok(verified)
    }

    fn verify_checkpoints(&self, verified: &mut Verified) -> Result<(), Trouble> {
        for revision in checkpoint::list(&*self.disk)? {
            let name = format::path(revision);
            let mut objects = 0;
            match checkpoint::load(&*self.disk, &name, &self.id, |_| objects += 1) {
                Ok(_) => {
                    verified.checkpoints += 1;
                    verified.objects += objects;
                }
                Err(trouble) => verified.note(trouble)?,
            }
        }
        Ok(())
    }

    fn verify_log(&self, verified: &mut Verified) -> Result<(), Trouble> {
        let names = list_segments(&*self.disk)?;
        let mut upcoming = None;
        for (at, name) in names.iter().enumerate() {
            let segment = match upcoming.take() {
                Some(segment) => segment,
                None => match Segment::read(&*self.disk, name, &self.id) {
                    Ok(segment) => segment,
                    Err(trouble) => {
                        verified.note(trouble)?;
                        continue;
                    }
                },
            };
            let next = names.get(at + 1);
            if let Some(next) = next {
                match Segment::read(&*self.disk, next, &self.id) {
                    Ok(next) => upcoming = Some(next),
                    Err(trouble) => verified.note(trouble)?,
                }
            }
            let first = upcoming.as_ref().map(|next| next.header.first_frame);
            let mut scan = Scan::new(&segment, first);
            loop {
                match scan.next() {
                    Ok(Ok(frame)) => verified.changes += frame.records.len() as u64,
                    Ok(Err(stop)) => {
                        verified.segments += 1;
                        verified.torn |= next.is_none() && matches!(stop, Stop::Torn(_));
                        break;
                    }
                    Err(trouble) => {
                        verified.note(trouble)?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Verified {
    /// Records damage; other errors are returned.
    fn note(&mut self, trouble: Trouble) -> Result<(), Trouble> {
        match trouble {
            Trouble::Damage(damage) => {
                if !self.problems.contains(&damage) {
                    self.problems.push(damage);
                }
                Ok(())
            }
            other => Err(other),
        }
    }
}
