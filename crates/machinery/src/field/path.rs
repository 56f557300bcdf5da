//! [`Path`]: the path to a field.

use std::fmt;

use crate::limits::{MAX_PATH_BYTES, push_path};

/// The longest path that needs no allocation, in bytes. Few paths of built-in kinds are longer.
const SHORT: usize = 94;

/// A path to a field: `spec.containers[0].name`. Validation builds thousands that no error needs, so extending one copies a few
/// bytes and, unless it is long, allocates nothing.
///
/// ```
/// use kubewright_machinery::field::Path;
///
/// let container = Path::new("spec").child("containers").index(0);
/// assert_eq!(container.child("name").as_str(), "spec.containers[0].name");
/// assert_eq!(Path::root().child("data").key("a.txt").to_string(), "data[a.txt]");
/// ```
#[derive(Clone)]
pub struct Path(Text);

#[derive(Clone)]
enum Text {
    /// The first `len` of the bytes, which are UTF-8.
    Short {
        len: u8,
        bytes: [u8; SHORT],
    },
    Long(String),
}

impl Path {
    /// Returns the root, which renders as nothing.
    pub fn root() -> Self {
        Self(Text::Short {
            len: 0,
            bytes: [0; SHORT],
        })
    }

    /// Creates a path that starts with a name.
    pub fn new(name: &str) -> Self {
        match name.len() <= SHORT {
            true => Self::root().joined(&[name]),
            false => Self(Text::Long(name.into())),
        }
    }

    /// Returns the path of a field below.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        match self.len() {
            0 => self.joined(&[name]),
            _ => self.joined(&[".", name]),
        }
    }

    /// Returns the path of an item of the list.
    #[must_use]
    pub fn index(&self, i: usize) -> Self {
        // The digits, from the last to the first.
        let mut digits = [0; 20];
        let (mut at, mut rest) = (digits.len(), i);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let digits = std::str::from_utf8(&digits[at..]).unwrap_or_default();
        self.joined(&["[", digits, "]"])
    }

    /// Returns the path of a key of the map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.joined(&["[", key, "]"])
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Short { len, bytes } => {
                let bytes = bytes.get(..usize::from(*len)).unwrap_or_default();
                std::str::from_utf8(bytes).unwrap_or_default()
            }
            Text::Long(text) => text,
        }
    }

    fn len(&self) -> usize {
        match &self.0 {
            Text::Short { len, .. } => usize::from(*len),
            Text::Long(text) => text.len(),
        }
    }

    fn joined(&self, parts: &[&str]) -> Self {
        let total = self.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        match (&self.0, u8::try_from(total)) {
            (Text::Short { len, bytes }, Ok(total)) if usize::from(total) <= SHORT => {
                let (mut bytes, mut at) = (*bytes, usize::from(*len));
                for part in parts {
                    let end = at + part.len();
                    if let Some(slot) = bytes.get_mut(at..end) {
                        slot.copy_from_slice(part.as_bytes());
                    }
                    at = end;
                }
                Self(Text::Short { len: total, bytes })
            }
            _ => self.long(parts, total),
        }
    }

    fn long(&self, parts: &[&str], total: usize) -> Self {
        let mut text = String::with_capacity(total.min(MAX_PATH_BYTES));
        text.push_str(self.as_str());
        for part in parts {
            push_path(&mut text, part);
        }
        Self(Text::Long(text))
    }
}

impl Default for Path {
    fn default() -> Self {
        Self::root()
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Path {}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Path").field(&self.as_str()).finish()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_paths_read_alike() {
        let mut path = Path::new("spec");
        let mut text = String::from("spec");
        for i in 0..40 {
            path = path.child("é").index(i).key("k");
            text += &format!(".é[{i}][k]");
            assert_eq!(path.as_str(), text);
        }
        assert_eq!(Path::new(&text), path);
        assert_eq!(Path::root(), Path::new(""));
    }
}
