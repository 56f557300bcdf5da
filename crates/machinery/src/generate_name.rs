//! Generates names from `generateName`: the base and five random characters.

use crate::limits::start_of;

/// The longest base; longer ones are truncated.
pub const MAX_BASE: usize = 58;
/// The number of characters that are appended.
pub const SUFFIX_LENGTH: usize = 5;
/// The characters that are appended: no vowels, nor digits that look like them, so that no words are formed.
pub const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Generates a name from a base. `random` gets a bound and returns a number below it.
///
/// ```
/// use kubewright_machinery::generate_name::generate_name;
///
/// assert_eq!(generate_name("web-", |_| 0), "web-bbbbb");
/// ```
pub fn generate_name(base: &str, mut random: impl FnMut(usize) -> usize) -> String {
    let start = start_of(base, MAX_BASE);
    let mut name = String::with_capacity(start.len() + SUFFIX_LENGTH);
    name.push_str(start);
    for _ in 0..SUFFIX_LENGTH {
        let i = random(ALPHABET.len()) % ALPHABET.len();
        name.push(char::from(ALPHABET[i]));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_base_is_cut_so_that_the_name_fits_a_dns_label() {
        let mut next = 0;
        let name = generate_name(&"x".repeat(100), |bound| {
            next = (next + 7) % bound;
            next
        });
        assert_eq!(name.len(), 63);
        assert!(name.starts_with(&"x".repeat(58)));
        assert_eq!(&name[58..], "ks4cl");
    }

    #[test]
    fn a_base_is_never_cut_within_a_character() {
        let name = generate_name(&"ä".repeat(40), |_| 26);
        assert_eq!(name, format!("{}99999", "ä".repeat(29)));
        let name = generate_name(&format!("x{}", "ä".repeat(40)), |_| 26);
        assert_eq!(name, format!("x{}99999", "ä".repeat(28)));
    }
}
