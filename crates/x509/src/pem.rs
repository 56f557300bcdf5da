//! PEM blocks, found in a text as Go's `encoding/pem` finds them.

use kubewright_machinery::go::base64;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";
/// The characters of a line of base64.
const LINE: usize = 64;

/// A block: its label, whether it has headers, and its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The label, such as `CERTIFICATE`.
    pub label: String,
    /// Whether there are headers, such as `Proc-Type`.
    pub has_headers: bool,
    /// The decoded contents.
    pub contents: Vec<u8>,
}

/// Returns the blocks of a text, in order. Text between blocks, and blocks that are malformed, are skipped.
///
/// ```
/// use kubewright_x509::pem;
///
/// let text = "first\n-----BEGIN A-----\nAQI=\n-----END A-----\nsecond\n";
/// let blocks: Vec<pem::Block> = pem::blocks(text.as_bytes()).collect();
/// assert_eq!(blocks.len(), 1);
/// assert_eq!((blocks[0].label.as_str(), blocks[0].contents.as_slice()), ("A", &[1, 2][..]));
/// ```
pub fn blocks(text: &[u8]) -> impl Iterator<Item = Block> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (block, after) = next(rest)?;
        rest = after;
        Some(block)
    })
}

/// Encodes a block, in lines of 64 characters.
///
/// ```
/// use kubewright_x509::pem;
///
/// assert_eq!(pem::encode("A", &[1, 2]), "-----BEGIN A-----\nAQI=\n-----END A-----\n");
/// ```
pub fn encode(label: &str, contents: &[u8]) -> String {
    let mut out = format!("-----BEGIN {label}-----\n");
    let encoded = base64::encode(contents);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// Returns the first block and the text after it.
fn next(text: &[u8]) -> Option<(Block, &[u8])> {
    let mut rest = text;
    loop {
        let end = find(rest, END)?;
        let after_end = rest.get(end + END.len()..)?;
        // The last BEGIN before the first END: a BEGIN without an END is skipped.
        let before = rest.get(..end)?;
        let found = before
            .windows(BEGIN.len())
            .rposition(|window| window == BEGIN)
            .filter(|at| *at == 0 || rest.get(at - 1) == Some(&b'\n'))
            .and_then(|at| block(rest.get(at + BEGIN.len()..)?, end - at - BEGIN.len()));
        match found {
            Some(found) => return Some(found),
            None => rest = after_end,
        }
    }
}

/// Reads a block whose label is at the start of the text, and whose END is at an offset, with its line break.
fn block(text: &[u8], end: usize) -> Option<(Block, &[u8])> {
    let (label, mut body) = line(text);
    let label = label.strip_suffix(DASHES)?;
    let mut has_headers = false;
    loop {
        // Headers end before the END.
        if body.is_empty() || text.len() - body.len() > end + 1 {
            return None;
        }
        let (header, after) = line(body);
        if !header.contains(&b':') {
            break;
        }
        has_headers = true;
        body = after;
    }
    let start = text.len() - body.len();
    let contents = match start.checked_sub(1) {
        // An empty block: the line break before END is the one after the label.
        Some(previous) if previous == end && !has_headers => &[][..],
        _ => text.get(start..end)?,
    };
    let trailer = text.get(end + END.len()..)?;
    let rest_of_line = trailer.strip_prefix(label)?.strip_prefix(DASHES)?;
    let (more, after) = line(rest_of_line);
    if !more.is_empty() {
        return None;
    }
    let spaceless: Vec<u8> = contents
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b' ' | b'\t'))
        .collect();
    let encoded = std::str::from_utf8(&spaceless).ok()?;
    let block = Block {
        label: String::from_utf8_lossy(label).into_owned(),
        has_headers,
        contents: base64::decode(encoded, base64::Encoding::Standard).ok()?,
    };
    Some((block, after))
}

/// Returns the first line, without white space at its end, and the text after it.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match text.iter().position(|byte| *byte == b'\n') {
        Some(at) => (
            text.get(..at).unwrap_or_default(),
            text.get(at + 1..).unwrap_or_default(),
        ),
        None => (text, &[][..]),
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let blank = |byte: &&u8| matches!(**byte, b' ' | b'\t');
    let trailing = line.iter().rev().take_while(blank).count();
    (line.get(..line.len() - trailing).unwrap_or_default(), rest)
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|w| w == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, Vec<u8>)> {
        let blocks = blocks(text.as_bytes());
        blocks.map(|b| (b.label, b.contents)).collect()
    }

    fn one(label: &str, contents: &[u8]) -> Vec<(String, Vec<u8>)> {
        vec![(label.to_owned(), contents.to_vec())]
    }

    #[test]
    fn blocks_are_found_between_other_text() {
        let text = "x\r\n-----BEGIN A B----- \r\nAQ ID\r\n-----END A B-----\t\r\ny";
        assert_eq!(found(text), one("A B", &[1, 2, 3]));
        let two = format!("{}{}", encode("A", &[1]), encode("B", &[2; 100]));
        assert_eq!(found(&two).len(), 2);
        assert_eq!(found(&two)[1].1, [2; 100]);
        assert_eq!(found("-----BEGIN A-----\n-----END A-----"), one("A", &[]));
    }

    #[test]
    fn malformed_blocks_are_skipped() {
        let good = encode("B", &[7]);
        for bad in [
            "-----BEGIN A-----\n!!!!\n-----END A-----\n",
            "-----BEGIN A-----\nAQID\n-----END B-----\n",
            "-----BEGIN A-----\nAQID\n-----END A----- x\n",
            "-----BEGIN A-----\nAQID\n",
            "x-----BEGIN A-----\nAQID\n-----END A-----\n",
            "-----BEGIN A\nAQID\n-----END A-----\n",
        ] {
            assert_eq!(found(bad), [], "{bad}");
            assert_eq!(found(&format!("{bad}{good}")), one("B", &[7]), "{bad}");
        }
    }

    #[test]
    fn headers_are_noticed() {
        let text = "-----BEGIN A-----\nK: v\n\nAQID\n-----END A-----\n";
        let block = blocks(text.as_bytes()).next().unwrap();
        assert!(block.has_headers);
        assert_eq!(block.contents, [1, 2, 3]);
        // Headers need a line break before the END.
        assert_eq!(found("-----BEGIN A-----\nK: v\n-----END A-----\n"), []);
    }
}
