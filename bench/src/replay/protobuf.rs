//! The pods in protobuf, as client-go requests them. Encoding is slower than sending, so the bytes are cached.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};

use super::corpus::{changed_pod, changed_version, listed_version, watched_pod};

/// Cached bytes by the numbers of pods and changes.
#[derive(Default)]
pub(super) struct Encoded {
    lists: Mutex<Kept<u64>>,
    frames: Mutex<Kept<(u64, u64)>>,
}

type Kept<K> = HashMap<K, Arc<Vec<u8>>>;

impl Encoded {
    /// Returns a list of all pods.
    pub(super) fn list(&self, pods: u64, version: u64) -> io::Result<Arc<Vec<u8>>> {
        kept(&self.lists, pods, || list(pods, version))
    }

    /// Returns the frames of all changes.
    pub(super) fn frames(&self, pods: u64, events: u64) -> io::Result<Arc<Vec<u8>>> {
        kept(&self.frames, (pods, events), || {
            let mut frames = Vec::new();
            for event in 0..events {
                let pod = value(changed_pod(event, pods), changed_version(event))?;
                frames.extend(frame("MODIFIED", &pod)?);
            }
            Ok(frames)
        })
    }
}

/// Encodes one frame of a watch.
pub(super) fn frame(kind: &str, object: &Value) -> io::Result<Vec<u8>> {
    kubewright_protobuf::encode_watch_event(kind, object).map_err(io::Error::other)
}

fn kept<K: std::hash::Hash + Eq>(
    all: &Mutex<Kept<K>>,
    key: K,
    make: impl FnOnce() -> io::Result<Vec<u8>>,
) -> io::Result<Arc<Vec<u8>>> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = all.get(&key) {
        return Ok(bytes.clone());
    }
    let bytes = Arc::new(make()?);
    all.insert(key, bytes.clone());
    Ok(bytes)
}

fn value(i: u64, version: u64) -> io::Result<Value> {
    let mut text = String::new();
    watched_pod(i, version, &mut text);
    Ok(serde_json::from_str(&text)?)
}

/// Assembles an encoded PodList from encoded pods; as one value it would need gigabytes.
fn list(pods: u64, version: u64) -> io::Result<Vec<u8>> {
    let empty = json!({
        "kind": "PodList", "apiVersion": "v1",
        "metadata": {"resourceVersion": version.to_string()},
    });
    let empty = kubewright_protobuf::encode(&empty).map_err(io::Error::other)?;
    let (head, fields) = envelope(&empty)?;
    let mut message = fields.to_vec();
    for i in 0..pods {
        let pod = kubewright_protobuf::encode(&value(i, listed_version(i))?);
        let pod = pod.map_err(io::Error::other)?;
        // `items` is the second field.
        length_delimited(&mut message, 2, envelope(&pod)?.1);
    }
    let mut bytes = head.to_vec();
    length_delimited(&mut bytes, 2, &message);
    // Content encoding and content type are both empty.
    bytes.extend([0x1a, 0, 0x22, 0]);
    Ok(bytes)
}

/// Splits an envelope into the part before the object and the fields of the object.
fn envelope(bytes: &[u8]) -> io::Result<(&[u8], &[u8])> {
    let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
    // The type comes first, then the object.
    let (start, length) = field(bytes, kubewright_protobuf::MAGIC.len()).ok_or_else(cut)?;
    let end_of_type = start + length;
    let (start, length) = field(bytes, end_of_type).ok_or_else(cut)?;
    let head = bytes.get(..end_of_type).ok_or_else(cut)?;
    Ok((head, bytes.get(start..start + length).ok_or_else(cut)?))
}

/// Returns the start and length of the content of a length-delimited field.
fn field(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut length = 0;
    for (n, byte) in bytes.get(at + 1..)?.iter().take(5).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            return Some((at + 2 + n, length));
        }
    }
    None
}

fn length_delimited(out: &mut Vec<u8>, number: u8, content: &[u8]) {
    out.push(number << 3 | 2);
    let mut length = content.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_put_together_is_a_list() {
        let bytes = list(3, 77).unwrap();
        let decoded = kubewright_protobuf::decode(&bytes, ("v1", "PodList")).unwrap();
        assert_eq!(decoded.kind, "PodList");
        assert_eq!(decoded.value["metadata"]["resourceVersion"], "77");
        let items = decoded.value["items"].as_array().unwrap();
        let versions: Vec<_> = items
            .iter()
            .map(|pod| pod["metadata"]["resourceVersion"].as_str().unwrap())
            .collect();
        assert_eq!(versions, ["1000", "1001", "1002"]);
    }
}
