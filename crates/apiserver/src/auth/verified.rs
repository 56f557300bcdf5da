//! [`VerifiedCredentials`]: a bounded cache of credentials whose signature has been verified.
//!
//! Credentials may be secrets, so the cache does not keep them: its keys are HMACs under a random key.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use ring::{hmac, rand::SystemRandom};

use super::generations::Generations;

/// The maximum number of entries of a generation.
const GENERATION: usize = 2048;

/// A cache of verified credentials, with at most 4,096 entries.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::auth::VerifiedCredentials;
///
/// let users = VerifiedCredentials::new();
/// let token = users.fingerprint([&b"31ada4fd"[..]]);
/// assert_eq!(users.get(&token), None);
/// users.insert(token, Arc::new("alice"));
/// assert_eq!(users.get(&token).as_deref(), Some(&"alice"));
/// ```
pub struct VerifiedCredentials<T> {
    key: hmac::Key,
    generations: Mutex<Generations<Fingerprint, Arc<T>>>,
}

/// The key of credentials in a [`VerifiedCredentials`]. It reveals nothing about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl<T> VerifiedCredentials<T> {
    /// Creates an empty cache.
    ///
    /// # Panics
    ///
    /// Panics if the system has no random numbers.
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random);
        Self {
            key: key.expect("the system has random numbers"),
            generations: Mutex::new(Generations::new(GENERATION)),
        }
    }

    /// Returns the key of credentials, which may have several parts.
    pub fn fingerprint<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> Fingerprint {
        let mut context = hmac::Context::with_key(&self.key);
        for part in parts {
            // The lengths keep the parts apart.
            context.update(&part.len().to_le_bytes());
            context.update(part);
        }
        let mut fingerprint = [0; 32];
        fingerprint.copy_from_slice(context.sign().as_ref());
        Fingerprint(fingerprint)
    }

    /// Returns the cached result for credentials.
    pub fn get(&self, credentials: &Fingerprint) -> Option<Arc<T>> {
        self.generations.lock().get(credentials)
    }

    /// Remembers credentials. Those that have not been used for the longest time may be forgotten.
    pub fn insert(&self, credentials: Fingerprint, value: Arc<T>) {
        self.generations.lock().insert(credentials, value);
    }
}

impl<T> Default for VerifiedCredentials<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for VerifiedCredentials<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedCredentials")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_differ_between_caches_and_splits() {
        let caches = [VerifiedCredentials::<()>::new(), VerifiedCredentials::new()];
        let of = |cache: &VerifiedCredentials<()>| cache.fingerprint([&b"token"[..]]);
        assert_ne!(of(&caches[0]), of(&caches[1]));
        let split = caches[0].fingerprint([&b"tok"[..], b"en"]);
        assert_ne!(split, of(&caches[0]));
    }
}
