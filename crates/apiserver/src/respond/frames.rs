//! [`FrameCache`]: the latest frames of watches, so that an event is encoded once for all watchers.

use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::Mutex;

use super::{
    negotiate::{Media, Transform},
    table::Include,
};

/// The number of frames that are kept. Watchers of an event ask for its frame at about the same time.
const MAX_FRAMES: usize = 16;

/// The total size of the frames that are kept and of their objects. One of the largest objects fits with its frame.
const MAX_BYTES: usize = 4 << 20;

/// The latest frames of the watches of a resource.
#[derive(Default)]
pub(crate) struct FrameCache(Mutex<Recent>);

#[derive(Default)]
struct Recent {
    frames: VecDeque<Frame>,
    bytes: usize,
}

struct Frame {
    key: FrameKey,
    /// It keeps the address from being used for another object.
    object: Bytes,
    bytes: Bytes,
}

/// The identity of a frame besides its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameKey {
    pub(super) event: &'static str,
    pub(super) media: Media,
    pub(super) transform: Transform,
    pub(super) include: Include,
}

impl FrameCache {
    /// Returns the frame of an object, which is encoded if it is not among the latest ones.
    ///
    /// Objects are the same if they share their bytes, as those of one write do. It encodes under the lock, so that watchers on
    /// several threads do not all do it.
    pub(super) fn get_or(
        &self,
        key: FrameKey,
        object: &Bytes,
        encode: impl FnOnce() -> Option<Bytes>,
    ) -> Option<Bytes> {
        let mut recent = self.0.lock();
        let is_it = |frame: &&Frame| {
            frame.object.as_ptr() == object.as_ptr()
                && frame.object.len() == object.len()
                && frame.key == key
        };
        if let Some(frame) = recent.frames.iter().rev().find(is_it) {
            return Some(frame.bytes.clone());
        }
        let bytes = encode()?;
        recent.keep(Frame {
            key,
            object: object.clone(),
            bytes: bytes.clone(),
        });
        Some(bytes)
    }
}

impl Frame {
    /// Returns the number of bytes that the frame keeps in memory.
    fn size(&self) -> usize {
        self.object.len() + self.bytes.len()
    }
}

impl Recent {
    fn keep(&mut self, frame: Frame) {
        if frame.size() > MAX_BYTES {
            return;
        }
        self.bytes += frame.size();
        self.frames.push_back(frame);
        while self.frames.len() > MAX_FRAMES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.frames.pop_front() else {
                break;
            };
            self.bytes -= oldest.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: FrameKey = FrameKey {
        event: "ADDED",
        media: Media::Json,
        transform: Transform::None,
        include: Include::None,
    };

    fn get(cache: &FrameCache, key: FrameKey, object: &Bytes) -> (Bytes, bool) {
        let mut encoded = false;
        let bytes = cache.get_or(key, object, || {
            encoded = true;
            Some([b"frame of ", &object[..]].concat().into())
        });
        (bytes.unwrap(), encoded)
    }

    #[test]
    fn a_frame_is_encoded_once() {
        let cache = FrameCache::default();
        let object = Bytes::from(vec![b'a'; 10]);
        let (first, encoded) = get(&cache, KEY, &object);
        assert!(encoded);
        let (second, encoded) = get(&cache, KEY, &object.clone());
        assert!(!encoded);
        assert_eq!(first.as_ptr(), second.as_ptr(), "the bytes are shared");
        // Another object, event or form has another frame.
        assert!(get(&cache, KEY, &Bytes::from(vec![b'a'; 10])).1);
        let modified = FrameKey {
            event: "MODIFIED",
            ..KEY
        };
        assert!(get(&cache, modified, &object).1);
        let partial = FrameKey {
            transform: Transform::Partial("v1"),
            ..KEY
        };
        assert!(get(&cache, partial, &object).1);
    }

    #[test]
    fn the_number_and_the_size_of_frames_are_bounded() {
        let cache = FrameCache::default();
        let objects: Vec<Bytes> = (0..2 * MAX_FRAMES).map(|_| vec![1; 10].into()).collect();
        for object in &objects {
            get(&cache, KEY, object);
        }
        assert_eq!(cache.0.lock().frames.len(), MAX_FRAMES);
        assert!(get(&cache, KEY, &objects[0]).1);
        assert!(!get(&cache, KEY, &objects[2 * MAX_FRAMES - 1]).1);
        for _ in 0..4 {
            get(&cache, KEY, &vec![1; MAX_BYTES / 4].into());
            let recent = cache.0.lock();
            let sizes = recent.frames.iter().map(Frame::size);
            assert_eq!(recent.bytes, sizes.sum::<usize>());
            assert!(recent.bytes <= MAX_BYTES);
        }
        assert_eq!(cache.0.lock().frames.len(), 1, "two of them are too large");
        get(&cache, KEY, &vec![1; MAX_BYTES].into());
        assert!(cache.0.lock().bytes <= MAX_BYTES);
    }
}
