//! Invalid protobuf, wrong lengths, and JSON that claims to be protobuf.

use http::Method;

use super::Target;
use crate::http_client::{JSON, MAPS, PROTOBUF};

const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type ConfigMap): ";
const NO_PREFIX: &str =
    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";

/// The envelope around raw bytes.
fn envelope(raw: &[u8]) -> Vec<u8> {
    let mut out = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12".to_vec();
    out.extend(varint(raw.len() as u64));
    out.extend(raw);
    out
}

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    out.extend(varint(bytes.len() as u64));
    out.extend(bytes);
    out
}

#[tokio::test]
async fn an_honest_body_is_understood() {
    let target = Target::new().await;
    let metadata = field(0x0a, &field(0x0a, b"b"));
    let answer = target
        .http
        .send(
            Method::POST,
            &format!("{MAPS}?dryRun=All"),
            PROTOBUF,
            envelope(&metadata),
        )
        .await;
    assert_eq!(answer.ok()["metadata"]["name"], "b");
    target.unharmed().await;
}

#[tokio::test]
async fn json_that_claims_to_be_protobuf_is_refused() {
    let target = Target::new().await;
    let body = r#"{"metadata":{"name":"x"}}"#;
    target
        .http
        .send(Method::POST, MAPS, PROTOBUF, body)
        .await
        .refused_with(400, &format!("{UNRECOGNIZED}{NO_PREFIX} ({body})"));
    target
        .http
        .send(Method::DELETE, &format!("{MAPS}/a"), PROTOBUF, &b"\xff"[..])
        .await
        .refused_with(400, NO_PREFIX);
    target.unharmed().await;
}

#[tokio::test]
async fn protobuf_that_claims_to_be_json_is_refused() {
    let target = Target::new().await;
    target.http.send(Method::POST, MAPS, JSON, &b"k8s\0garbage"[..]).await.refused_with(400, &format!(
        "{UNRECOGNIZED}couldn't get version/kind; json parse error: invalid character 'k' looking for beginning of value (6b38730067617262616765)"
    ));
    target.unharmed().await;
}

#[tokio::test]
async fn garbage_is_refused() {
    let target = Target::new().await;
    for (body, why) in [
        (
            &b"k8s\0garbage"[..],
            "proto: illegal wireType 7 (6b38730067617262616765)",
        ),
        (b"k8s\0", "empty body (6b387300)"),
        (b"", "empty data (<empty>)"),
        (b"\x00\x01\x02", &format!("{NO_PREFIX} (000102)")),
        (
            b"k8s\0\x0a\xff\xff\xff\xff\x0f",
            "unexpected EOF (6b3873000affffffff0f)",
        ),
    ] {
        target
            .http
            .send(Method::POST, MAPS, PROTOBUF, body)
            .await
            .refused_with(400, &format!("{UNRECOGNIZED}{why}"));
    }
    let groups = [&b"k8s\0"[..], &[0x0b; 10_000]].concat();
    target
        .http
        .send(Method::POST, MAPS, PROTOBUF, groups)
        .await
        .refused_with(
            400,
            &format!(
                "{UNRECOGNIZED}proto: wrong wireType = 3 for field TypeMeta (6b387300{} ...)",
                "0b".repeat(26)
            ),
        );
    target.unharmed().await;
}

#[tokio::test]
async fn lies_about_lengths_are_refused() {
    let target = Target::new().await;
    let cases: Vec<Vec<u8>> = vec![
        // Longer than the message.
        b"\x0a\x7f\x0a\x01b".to_vec(),
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f".to_vec(),
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01".to_vec(),
        // A varint that does not end, and one that ends too late.
        b"\x0a\xff".to_vec(),
        [&b"\x0a"[..], &[0x80; 100_000], b"\x01"].concat(),
        // A string that is no text.
        field(0x0a, &field(0x0a, b"\xff\xfe")),
        // Field number zero.
        b"\x02\x00".to_vec(),
    ];
    for (i, raw) in cases.iter().enumerate() {
        let answer = target
            .http
            .send(Method::POST, MAPS, PROTOBUF, envelope(raw))
            .await;
        assert!(
            matches!(answer.code, 400 | 422),
            "{i}: {}",
            answer.message()
        );
    }
    target.unharmed().await;
}

#[tokio::test]
async fn unknown_groups_inside_each_other_end_somewhere() {
    let target = Target::new().await;
    let path = format!("{MAPS}?dryRun=All");
    for levels in [100, 10_000, 700_000] {
        let raw = [[0xfb, 0x7f].repeat(levels), [0xfc, 0x7f].repeat(levels)].concat();
        let answer = target
            .http
            .send(Method::POST, &path, PROTOBUF, envelope(&raw))
            .await;
        assert!(
            matches!(answer.code, 400 | 422),
            "{levels}: {}",
            answer.message()
        );
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_message_that_holds_itself_ends_somewhere() {
    let target = Target::new().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    for levels in [1_000, 100_000] {
        // A schema that is not what is not what is not …
        let mut schema = Vec::new();
        let mut lengths = vec![0usize];
        for _ in 0..levels {
            let inner = lengths[lengths.len() - 1];
            lengths.push(inner + 2 + varint(inner as u64).len());
        }
        for inner in lengths.iter().rev().skip(1) {
            schema.extend([0xe2, 0x01]);
            schema.extend(varint(*inner as u64));
        }
        let version = field(0x22, &field(0x0a, &schema));
        let raw = field(0x12, &field(0x3a, &version));
        let mut body = b"k8s\0".to_vec();
        let kind = [
            field(0x0a, b"apiextensions.k8s.io/v1"),
            field(0x12, b"CustomResourceDefinition"),
        ];
        body.extend(field(0x0a, &kind.concat()));
        body.extend(field(0x12, &raw));
        let answer = target.http.send(Method::POST, path, PROTOBUF, body).await;
        assert!(
            (400..500).contains(&answer.code),
            "{levels}: {}",
            answer.message()
        );
    }
    target.unharmed().await;
}

#[tokio::test]
async fn every_cut_of_a_good_body_is_refused_or_understood() {
    let target = Target::new().await;
    let mut raw = field(0x0a, &field(0x0a, b"b"));
    raw.extend(field(
        0x12,
        &[field(0x0a, b"key"), field(0x12, b"value")].concat(),
    ));
    let whole = envelope(&raw);
    let path = format!("{MAPS}?dryRun=All");
    for end in 0..whole.len() {
        let answer = target
            .http
            .send(Method::POST, &path, PROTOBUF, whole[..end].to_vec())
            .await;
        assert!(
            matches!(answer.code, 201 | 400 | 422),
            "{end}: {}",
            answer.message()
        );
    }
    for flip in 0..whole.len() * 8 {
        let mut broken = whole.clone();
        broken[flip / 8] ^= 1 << (flip % 8);
        let answer = target
            .http
            .send(Method::POST, &path, PROTOBUF, broken)
            .await;
        assert!(
            matches!(answer.code, 201 | 400 | 422),
            "{flip}: {}",
            answer.message()
        );
    }
    target.unharmed().await;
}
