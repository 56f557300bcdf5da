//! Hashes as kube-controller-manager computes them: of pod templates, for the names of ReplicaSets and of the revisions of
//! DaemonSets; of bytes, for the names of the revisions of StatefulSets.
//!
//! The hash of a template is that of the text which Go prints for the value (`dump`), so it depends on the names and types
//! of all fields of the release.

mod dump;
mod quantity;

use serde_json::Value;

/// The characters of encoded hashes: no vowels and nothing that looks like one.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

const FNV_OFFSET: u32 = 2_166_136_261;
const FNV_PRIME: u32 = 16_777_619;

/// Returns the `pod-template-hash` of a pod template as it is stored: FNV-1a of its dump, and of the number of collisions
/// if there were any.
pub(crate) fn of_template(template: &Value, collisions: Option<i32>) -> String {
    let mut sum = fnv1a(FNV_OFFSET, dump::template(template).as_bytes());
    if let Some(collisions) = collisions {
        // Go writes the count into a buffer of eight bytes.
        sum = fnv1a(sum, &u64::from(collisions.cast_unsigned()).to_le_bytes());
    }
    encode(sum)
}

/// Returns the hash of a revision's data: the older form of FNV of its bytes and of the number of collisions in decimal.
pub(crate) fn of_revision(data: &[u8], collisions: i32) -> String {
    let sum = fnv1(FNV_OFFSET, data);
    encode(fnv1(sum, collisions.to_string().as_bytes()))
}

fn fnv1a(sum: u32, bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(FNV_PRIME);
    bytes.iter().fold(sum, step)
}

fn fnv1(sum: u32, bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| sum.wrapping_mul(FNV_PRIME) ^ u32::from(*byte);
    bytes.iter().fold(sum, step)
}

/// Writes the digits of a sum in the alphabet.
fn encode(sum: u32) -> String {
    let digit = |digit: u8| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]);
    sum.to_string().bytes().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Templates with the length of the dump and the hashes, computed by the packages of Kubernetes 1.36.
    const VECTORS: &str = include_str!("../../../tests/vectors/templates.json");

    #[test]
    fn templates_have_the_hashes_of_kubernetes() {
        let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
        for vector in vectors {
            let template = &vector["template"];
            assert_eq!(dump::template(template).len(), vector["length"]);
            assert_eq!(of_template(template, None), vector["hash"]);
            assert_eq!(of_template(template, Some(1)), vector["collision"]);
        }
    }

    #[test]
    fn empty_lists_and_maps_count_as_none() {
        let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
        let mut template = vectors[0]["template"].clone();
        template["spec"]["volumes"] = serde_json::json!([]);
        template["metadata"]["annotations"] = serde_json::json!({});
        assert_eq!(of_template(&template, None), vectors[0]["hash"]);
    }

    #[test]
    fn a_revision_has_the_hash_of_its_bytes_and_collisions() {
        assert_eq!(encode(fnv1(FNV_OFFSET, b"a")), encode(0x050c_5d7e));
        assert_ne!(of_revision(b"a", 0), of_revision(b"a", 1));
        assert_eq!(encode(fnv1a(FNV_OFFSET, b"a")), encode(0xe40c_292c));
    }
}
