//! `hexdump`: the bytes of files.

use std::fmt::Write as _;

use super::Call;

impl Call<'_> {
    /// Prints bytes in the canonical form, which is the only one that is supported.
    pub(super) async fn hexdump(&mut self) -> i32 {
        let (options, files) = self.options("ns");
        if !options.iter().any(|(letter, _)| *letter == 'C') {
            return self.fail(1, "only `hexdump -C` is supported").await;
        }
        let (found, code) = self.inputs(&files).await;
        let bytes: Vec<u8> = found.into_iter().flat_map(|(_, bytes)| bytes).collect();
        match self.print(canonical(&bytes)).await {
            0 => code,
            failed => failed,
        }
    }
}

fn canonical(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (line, part) in bytes.chunks(16).enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(out, "{:08x} ", line * 16);
        for at in 0..16 {
            let gap = if at % 8 == 0 { " " } else { "" };
            let _ = match part.get(at) {
                Some(byte) => write!(out, "{gap}{byte:02x} "),
                None => write!(out, "{gap}   "),
            };
        }
        let shown = part.iter().map(|byte| match byte {
            0x20..0x7f => char::from(*byte),
            _ => '.',
        });
        let shown: String = shown.collect();
        let _ = writeln!(out, " |{shown}|");
    }
    if !bytes.is_empty() {
        let _ = writeln!(out, "{:08x}", bytes.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn bytes_are_shown_as_numbers_and_letters() {
        let bytes = [0xde, 0xca, 0xfe, 0xba, 0xd0, 0xfe, 0xff, b'a', b'b'];
        let expected =
            "00000000  de ca fe ba d0 fe ff 61  62                       |.......ab|\n00000009\n";
        assert_eq!(canonical(&bytes), expected);
        assert_eq!(canonical(&[]), "");
    }
}
