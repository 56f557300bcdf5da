//! Archives of `tar`, in the ustar format, with long names of pax and GNU.

use jiff::Timestamp;

use super::{Entry, FileError, Files, Kind, absolute};

/// The size of a header; file contents are padded to a multiple of it.
const BLOCK: usize = 512;

/// The largest archive, in bytes.
const MOST_BYTES: usize = 128 << 20;

/// The longest name in a header of its own.
const LONGEST_NAME: u64 = 1 << 16;

/// An archive that is being read.
#[derive(Default)]
struct Archive {
    long_name: Option<String>,
    long_link: Option<String>,
}

/// Returns an archive of files and directories, recursively. Names are relative to the directory `from`.
pub(crate) fn pack(files: &Files, from: &str, names: &[String]) -> (Vec<u8>, Vec<String>) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    for name in names {
        let path = absolute(from, name);
        let shown = name.trim_start_matches('/');
        let shown = if shown.is_empty() { "." } else { shown };
        if let Err(error) = add(files, &path, shown.trim_end_matches('/'), &mut out) {
            errors.push(format!("tar: {name}: {error}"));
        }
    }
    out.resize(out.len() + 2 * BLOCK, 0);
    (out, errors)
}

fn add(files: &Files, path: &[String], name: &str, out: &mut Vec<u8>) -> Result<(), FileError> {
    let entry = files.own_entry(path)?;
    if out.len() + entry.size() > MOST_BYTES {
        return Err(FileError::NoSpace);
    }
    match &entry.kind {
        Kind::Directory(entries) => {
            header(out, &format!("{name}/"), &entry, b'5', 0, "");
            for child in entries.keys() {
                let mut below = path.to_vec();
                below.push(child.clone());
                add(files, &below, &format!("{name}/{child}"), out)?;
            }
        }
        Kind::File(bytes) => {
            header(out, name, &entry, b'0', bytes.len(), "");
            out.extend_from_slice(bytes);
            out.resize(out.len().next_multiple_of(BLOCK), 0);
        }
        Kind::Link(target) => header(out, name, &entry, b'2', 0, target),
    }
    Ok(())
}

fn header(out: &mut Vec<u8>, name: &str, entry: &Entry, kind: u8, size: usize, link: &str) {
    for (text, kind) in [(name, b'L'), (link, b'K')] {
        if text.len() > 100 {
            raw_header(out, "././@LongLink", 0, 0, kind, text.len() + 1, "");
            out.extend_from_slice(text.as_bytes());
            out.push(0);
            out.resize(out.len().next_multiple_of(BLOCK), 0);
        }
    }
    let seconds = entry.modified.as_second().max(0);
    raw_header(out, name, entry.mode, seconds, kind, size, link);
}

fn raw_header(
    out: &mut Vec<u8>,
    name: &str,
    mode: u32,
    modified: i64,
    kind: u8,
    size: usize,
    link: &str,
) {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, length: usize, text: &[u8]| {
        let length = text.len().min(length);
        block[at..at + length].copy_from_slice(&text[..length]);
    };
    put(0, 100, name.as_bytes());
    put(100, 8, format!("{mode:07o}\0").as_bytes());
    put(108, 8, b"0000000\0");
    put(116, 8, b"0000000\0");
    put(124, 12, format!("{size:011o}\0").as_bytes());
    put(136, 12, format!("{modified:011o}\0").as_bytes());
    put(148, 8, b"        ");
    put(156, 1, &[kind]);
    put(157, 100, link.as_bytes());
    put(257, 8, b"ustar  \0");
    put(265, 32, b"root");
    put(297, 32, b"root");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    out.extend_from_slice(&block);
}

/// Unpacks an archive into a directory. Returns the names of its entries.
///
/// # Errors
///
/// Fails in the words of `tar` if the archive is damaged, or if an entry cannot be written.
pub(crate) fn unpack(
    files: &Files,
    into: &str,
    bytes: &[u8],
    now: Timestamp,
) -> Result<Vec<String>, String> {
    let mut archive = Archive::default();
    let mut names = Vec::new();
    let mut rest = bytes;
    loop {
        let Some((head, after)) = rest.split_at_checked(BLOCK) else {
            return match rest.is_empty() && !names.is_empty() {
                true => Ok(names),
                false => Err("tar: short read".to_owned()),
            };
        };
        if head.iter().all(|byte| *byte == 0) {
            return Ok(names);
        }
        check(head)?;
        let size = number(&head[124..136]).ok_or("tar: invalid tar header")?;
        let size = usize::try_from(size).map_err(|_| "tar: invalid tar header")?;
        let padded = size.checked_next_multiple_of(BLOCK);
        let padded = padded.ok_or("tar: invalid tar header")?;
        let (Some(body), Some(next)) = (after.get(..size), after.get(padded..)) else {
            return Err("tar: short read".to_owned());
        };
        if let Some(name) = archive.entry(files, into, head, body, now)? {
            names.push(name);
        }
        rest = next;
    }
}

impl Archive {
    /// Unpacks one entry. Returns its name, or `None` for an entry that only describes the next one.
    fn entry(
        &mut self,
        files: &Files,
        into: &str,
        head: &[u8],
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<String>, String> {
        let kind = head[156];
        let long = || {
            let text = String::from_utf8_lossy(body);
            text.trim_end_matches('\0').to_owned()
        };
        match kind {
            b'L' | b'K' | b'x' if body.len() as u64 > LONGEST_NAME => {
                return Err("tar: name is too long".to_owned());
            }
            b'L' => self.long_name = Some(long()),
            b'K' => self.long_link = Some(long()),
            b'x' => self.describe(body),
            b'g' => {}
            _ => {
                let name = self.long_name.take().unwrap_or_else(|| name(head));
                let link = self.long_link.take();
                let link = link.unwrap_or_else(|| text(&head[157..257]));
                self.write(files, into, (head, &name, &link), body, now)
                    .map_err(|e| format!("tar: can't create '{name}': {e}"))?;
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn write(
        &self,
        files: &Files,
        into: &str,
        (head, name, link): (&[u8], &str, &str),
        body: &[u8],
        now: Timestamp,
    ) -> Result<(), FileError> {
        // `..` in a name does not leave the directory.
        let mut path = absolute("/", into);
        path.extend(absolute("/", name));
        let mode = number(&head[100..108]).map_or(0o644, |mode| mode as u32 & 0o7777);
        if path.is_empty() {
            return Ok(());
        }
        if let Some((_, parent)) = path.split_last() {
            files.create_directory(parent, true, now)?;
        }
        match head[156] {
            b'5' => {
                files.create_directory(&path, true, now)?;
                files.set_mode(&path, mode)
            }
            b'2' => files.put(&path, Entry::link(link, now)),
            b'1' => {
                let bytes = files.read(&absolute(into, link))?;
                files.write(&path, &bytes, false, now)
            }
            b'0' | 0 | b'7' => {
                files.write(&path, body, false, now)?;
                files.set_mode(&path, mode)
            }
            _ => Err(FileError::Invalid),
        }
    }

    /// Reads the records of a pax header: `length key=value`, each terminated by a newline.
    fn describe(&mut self, mut body: &[u8]) {
        while let Some(space) = body.iter().position(|byte| *byte == b' ') {
            let length = std::str::from_utf8(&body[..space]).ok();
            let length = length.and_then(|text| text.parse::<usize>().ok());
            let Some(record) = length.and_then(|length| body.get(space + 1..length)) else {
                return;
            };
            let record = String::from_utf8_lossy(record);
            match record.trim_end_matches('\n').split_once('=') {
                Some(("path", value)) => self.long_name = Some(value.to_owned()),
                Some(("linkpath", value)) => self.long_link = Some(value.to_owned()),
                _ => {}
            }
            body = &body[length.unwrap_or(body.len())..];
        }
    }
}

/// Verifies the checksum of a header.
fn check(head: &[u8]) -> Result<(), String> {
    let own = number(&head[148..156]);
    let sum: u64 = head
        .iter()
        .enumerate()
        .map(|(at, byte)| match at {
            148..156 => u64::from(b' '),
            _ => u64::from(*byte),
        })
        .sum();
    match own == Some(sum) {
        true => Ok(()),
        false => Err("tar: invalid tar magic or checksum".to_owned()),
    }
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

/// Returns the name in a header, which may have a prefix.
fn name(head: &[u8]) -> String {
    let prefix = match &head[257..263] {
        b"ustar\0" => text(&head[345..500]),
        _ => String::new(),
    };
    match prefix.is_empty() {
        true => text(&head[..100]),
        false => format!("{prefix}/{}", text(&head[..100])),
    }
}

/// Reads an octal number, or one in base 256.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (high, low) = field.split_at_checked(field.len().checked_sub(8)?)?;
        if high.iter().any(|byte| byte & 0x7f != 0) {
            return None;
        }
        return low.iter().try_fold(0u64, |sum, byte| {
            sum.checked_mul(256)?.checked_add((*byte).into())
        });
    }
    let digits = text(field);
    let digits = digits.trim_matches([' ', '\0']);
    match digits.is_empty() {
        true => Some(0),
        false => u64::from_str_radix(digits, 8).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Tree, *};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn files() -> Files {
        Files::new((Tree::default(), false), Vec::new(), NOW)
    }

    #[test]
    fn archives_round_trip() {
        let files = files();
        let path = |text: &str| absolute("/", text);
        let long = "n".repeat(150);
        files.create_directory(&path("/a/b"), true, NOW).unwrap();
        files
            .write(&path("/a/b/text"), b"hello\n", false, NOW)
            .unwrap();
        files
            .write(&path(&format!("/a/{long}")), &[7; 1000], false, NOW)
            .unwrap();
        files
            .put(&path("/a/link"), Entry::link("b/text", NOW))
            .unwrap();
        let (bytes, errors) = pack(&files, "/", &["a".to_owned(), "missing".to_owned()]);
        assert_eq!(errors, ["tar: missing: No such file or directory"]);
        assert_eq!(bytes.len() % BLOCK, 0);
        let other = super::tests::files();
        let names = unpack(&other, "/into", &bytes, NOW).unwrap();
        assert_eq!(
            names,
            ["a/", "a/b/", "a/b/text", "a/link", &format!("a/{long}")]
        );
        assert_eq!(*other.read(&path("/into/a/link")).unwrap(), b"hello\n");
        assert_eq!(
            other.read(&path(&format!("/into/a/{long}"))).unwrap().len(),
            1000
        );
    }

    #[test]
    fn damaged_archives_are_rejected() {
        let files = files();
        files
            .write(&absolute("/", "a"), b"hello", false, NOW)
            .unwrap();
        let (mut bytes, _) = pack(&files, "/", &["a".to_owned()]);
        let unpacked = |bytes: &[u8]| unpack(&super::tests::files(), "/", bytes, NOW);
        assert!(unpacked(&bytes).is_ok());
        assert_eq!(unpacked(&bytes[..600]).unwrap_err(), "tar: short read");
        assert_eq!(unpacked(&[]).unwrap_err(), "tar: short read");
        // A reader stops at the digits of the checksum and skips the two bytes that end it.
        let ends_checksum = |at: &usize| (154..156).contains(at);
        for at in (0..BLOCK).filter(|at| !ends_checksum(at)) {
            let before = bytes[at];
            bytes[at] ^= 0x15;
            assert!(unpacked(&bytes).is_err(), "{at}");
            bytes[at] = before;
        }
    }

    #[test]
    fn names_with_parent_components_stay_below() {
        let files = files();
        let mut bytes = Vec::new();
        let entry = Entry::file(Vec::new(), 0o644, NOW);
        header(&mut bytes, "../../etc/passwd", &entry, b'0', 0, "");
        bytes.resize(bytes.len() + 2 * BLOCK, 0);
        unpack(&files, "/tmp", &bytes, NOW).unwrap();
        assert!(files.read(&absolute("/", "/tmp/etc/passwd")).is_ok());
    }
}
