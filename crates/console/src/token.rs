//! [`Token`]: the secret in the console's URL.

use std::fmt;

use subtle::ConstantTimeEq;

/// A 128-bit secret in hexadecimal. `Debug` does not print it.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// Generates a token.
    pub(crate) fn generate() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether this is the value of an `Authorization` header with the token, in constant time.
    pub(crate) fn is_carried_by(&self, authorization: &[u8]) -> bool {
        let Some((scheme, given)) = authorization.split_at_checked(7) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(given.ct_eq(self.0.as_bytes()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_accepted() {
        let token = Token::generate();
        let carried = |text: String| token.is_carried_by(text.as_bytes());
        assert!(carried(format!("Bearer {}", token.as_str())));
        assert!(carried(format!("bearer {}", token.as_str())));
        assert!(!carried(token.as_str().to_owned()));
        assert!(!carried(format!("Bearer {}0", token.as_str())));
        assert!(!carried(format!("Bearer {}", &token.as_str()[..31])));
        assert!(!carried("Bearer ".to_owned()));
        assert!(!carried(String::new()));
    }

    #[test]
    fn a_token_has_128_bits_and_is_not_printed() {
        let (one, other) = (Token::generate(), Token::generate());
        assert_eq!(one.as_str().len() * 4, 128);
        assert_ne!(one.as_str(), other.as_str());
        assert!(!format!("{one:?}").contains(one.as_str()));
    }
}
