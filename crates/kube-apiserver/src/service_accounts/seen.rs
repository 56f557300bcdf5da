//! [`SeenTokens`]: tokens whose signature need not be verified again.

use std::sync::Arc;

use kubewright_apiserver::auth::{Fingerprint, VerifiedCredentials};

use super::{authenticator::Verified, jwt::Compact};

/// The maximum length of a token that is remembered, in bytes. Longer ones are verified each time.
const MAX_LENGTH: usize = 4 << 10;

/// Remembers tokens whose signature has been verified, or was made by this server.
///
/// The signed part of a token is not secret without its signature, so it is stored unchanged and compared. Only the
/// signature is hashed, which is a small part of the token.
#[derive(Default)]
pub(super) struct SeenTokens(VerifiedCredentials<SeenToken>);

/// A token whose signature is valid.
pub(super) struct SeenToken {
    signed: Box<str>,
    pub(super) verified: Verified,
}

impl SeenTokens {
    /// Returns a token that has been seen before.
    pub(super) fn get(&self, token: &Compact<'_>) -> Option<Arc<SeenToken>> {
        let seen = self.0.get(&self.fingerprint(token))?;
        (*seen.signed == *token.signed).then_some(seen)
    }

    /// Remembers a token with a valid signature.
    pub(super) fn insert(&self, token: &Compact<'_>, verified: Verified) -> Arc<SeenToken> {
        let seen = Arc::new(SeenToken {
            signed: token.signed.into(),
            verified,
        });
        if token.signed.len() + token.signature.len() <= MAX_LENGTH {
            self.0.insert(self.fingerprint(token), seen.clone());
        }
        seen
    }

    fn fingerprint(&self, token: &Compact<'_>) -> Fingerprint {
        self.0.fingerprint([token.signature.as_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::{super::claims::Bound, *};

    fn remembers(seen: &SeenTokens, token: &str) -> bool {
        seen.get(&Compact::split(token).unwrap()).is_some()
    }

    fn insert(seen: &SeenTokens, token: &str) {
        let verified = Verified::bound(Bound::default());
        seen.insert(&Compact::split(token).unwrap(), verified);
    }

    #[test]
    fn a_signature_counts_only_with_the_text_that_it_signs() {
        let seen = SeenTokens::default();
        insert(&seen, "header.payload.signature");
        assert!(remembers(&seen, "header.payload.signature"));
        for other in [
            "header.other.signature",
            "other.payload.signature",
            "header.payload.signaturE",
            "header.payload.",
        ] {
            assert!(!remembers(&seen, other), "{other}");
        }
    }

    #[test]
    fn long_tokens_are_not_kept() {
        let seen = SeenTokens::default();
        let of_length = |length: usize| format!("a.{}.c", "b".repeat(length - 4));
        for (length, kept) in [(MAX_LENGTH, true), (MAX_LENGTH + 2, false)] {
            let token = of_length(length);
            insert(&seen, &token);
            assert_eq!(remembers(&seen, &token), kept, "{length}");
        }
    }
}
