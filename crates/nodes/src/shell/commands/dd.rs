//! `dd`: copies blocks.

use super::Call;
use crate::image::hex;

/// The largest number of bytes that are copied.
const MOST_BYTES: usize = 64 << 20;

impl Call<'_> {
    pub(super) async fn dd(&mut self) -> i32 {
        let value = |name: &str| {
            let mut words = self.rest.iter().rev();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let number = |name: &str| value(name).map(|text| size(text).ok_or(text));
        let (block, count) = match (number("bs").transpose(), number("count").transpose()) {
            (Ok(block), Ok(count)) => (block.unwrap_or(512).max(1), count),
            (Err(text), _) | (_, Err(text)) => {
                return self.fail(1, &format!("invalid number '{text}'")).await;
            }
        };
        let limit = count.map_or(MOST_BYTES, |count| count.saturating_mul(block));
        if limit > MOST_BYTES {
            return self.fail(1, "No space left on device").await;
        }
        let (input, output) = (value("if"), value("of"));
        let bytes = match input {
            Some("/dev/zero") => vec![0; limit],
            Some("/dev/urandom" | "/dev/random") => noise(limit),
            Some(path) => match self.shell.world.files.read(&self.path(path)) {
                Ok(bytes) => bytes[..bytes.len().min(limit)].to_vec(),
                Err(error) => {
                    return self.fail(1, &format!("can't open '{path}': {error}")).await;
                }
            },
            None => {
                let mut bytes = Vec::new();
                while bytes.len() < limit
                    && let Ok(chunk) = self.io.stdin.chunk().await
                    && !chunk.is_empty()
                {
                    bytes.extend_from_slice(&chunk);
                }
                bytes.truncate(limit);
                bytes
            }
        };
        let code = match output {
            Some("/dev/null") => 0,
            Some(path) => {
                let files = &self.shell.world.files;
                match files.write(&self.path(path), &bytes, false, self.now()) {
                    Ok(()) => 0,
                    Err(error) => return self.fail(1, &format!("'{path}': {error}")).await,
                }
            }
            None => self.print(&bytes).await,
        };
        let (whole, partial) = (bytes.len() / block, bytes.len() % block);
        let records = format!("{whole}+{}", u8::from(partial > 0));
        let text = format!("{records} records in\n{records} records out\n");
        // The reader may be gone.
        let _ = self.io.stderr.write(text.as_bytes()).await;
        code
    }
}

/// Parses a number with a unit.
fn size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "c" => 1,
        "b" => 512,
        "k" | "K" => 1 << 10,
        "kB" | "KB" => 1000,
        "m" | "M" => 1 << 20,
        "MB" => 1_000_000,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

/// Returns bytes that look random and are always the same.
fn noise(count: usize) -> Vec<u8> {
    let blocks = (0..count.div_ceil(64)).map(|at| hex(&["noise", &at.to_string()]));
    let mut bytes: Vec<u8> = blocks.flat_map(String::into_bytes).collect();
    bytes.truncate(count);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, expected) in [
            ("1", Some(1)),
            ("2k", Some(2048)),
            ("1M", Some(1 << 20)),
            ("1MB", Some(1_000_000)),
            ("x", None),
            ("1x", None),
        ] {
            assert_eq!(size(text), expected, "{text}");
        }
    }
}
