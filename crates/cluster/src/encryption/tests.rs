//! Values of every provider, rejected values, and invalid configurations.

use base64::{Engine, prelude::BASE64_STANDARD};
use kubewright_kube_apiserver::StorageLayout;

use super::*;

const HEAD: &str =
    "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n";

fn configured(rules: &str) -> Result<Encryption, EncryptionError> {
    Encryption::parse(format!("{HEAD}{rules}"))
}

/// Returns a rule for secrets with one provider, whose key has the given length.
fn rule(provider: &str, length: usize) -> String {
    let secret = BASE64_STANDARD.encode((0..length as u8).collect::<Vec<_>>());
    format!(
        "- resources: [secrets]\n  providers: [{{{provider}: {{keys: [{{name: key1, secret: {secret}}}]}}}}]\n"
    )
}

fn layout(rules: &str) -> Arc<dyn Layout> {
    let encryption = configured(rules).unwrap();
    encryption.layout("/registry", Arc::new(StorageLayout::json()))
}

fn secret() -> (Key, Payload) {
    let text = r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","namespace":"default"},"data":{"a":"Yg=="}}"#;
    let key = Key::new("secrets", "default/s");
    let read = StorageLayout::json().decode(&key, &Bytes::from_static(text.as_bytes()));
    (key, read.unwrap())
}

#[test]
fn every_provider_decrypts_its_values() {
    let (key, payload) = secret();
    for (provider, length) in [
        ("aescbc", 16),
        ("aescbc", 24),
        ("aescbc", 32),
        ("aesgcm", 16),
        ("aesgcm", 32),
        ("secretbox", 32),
    ] {
        let layout = layout(&rule(provider, length));
        let value = layout.encode(&key, &payload).unwrap();
        let head = format!("k8s:enc:{provider}:v1:key1:");
        assert!(value.starts_with(head.as_bytes()), "{value:?}");
        assert_ne!(value, layout.encode(&key, &payload).unwrap());
        assert_eq!(layout.decode(&key, &value).unwrap().bytes, payload.bytes);
        // CBC does not detect every corruption.
        let damaged = (head.len()..value.len()).filter(|_| provider != "aescbc");
        for at in damaged {
            let mut bytes = value.to_vec();
            bytes[at] ^= 1;
            assert!(
                layout.decode(&key, &bytes.into()).is_err(),
                "{provider} at {at}"
            );
        }
        for length in 0..value.len() {
            assert!(layout.decode(&key, &value.slice(..length)).is_err());
        }
        // Other resources are not encrypted.
        let map = Key::new("configmaps", "default/s");
        assert!(layout.encode(&map, &payload).unwrap().starts_with(b"{"));
    }
}

#[test]
fn gcm_authenticates_the_etcd_key() {
    let (key, payload) = secret();
    let layout = layout(&rule("aesgcm", 32));
    let value = layout.encode(&key, &payload).unwrap();
    let other = Key::new("secrets", "default/other");
    let error = layout.decode(&other, &value).err().unwrap().to_string();
    assert!(error.contains("does not decrypt the value"), "{error}");
}

/// The first test vector of NaCl's `secretbox`, in the layout of kube-apiserver.
#[test]
fn secretbox_matches_the_test_vector_of_nacl() {
    let key = "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389";
    let nonce = "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37";
    let message = "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705";
    let sealed = "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5";
    let bytes = |text: &str| -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2);
        pairs
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    };
    let secret = provider::SealingKey::new(provider::Cipher::Secretbox, "k", &bytes(key)).unwrap();
    let value = [
        b"k8s:enc:secretbox:v1:k:".to_vec(),
        bytes(nonce),
        bytes(sealed),
    ];
    let opened = provider::open(
        &[Provider::Keys(vec![secret])],
        "/registry/secrets/default/s",
        &value.concat().into(),
    );
    assert_eq!(opened.unwrap(), bytes(message));
}

#[test]
fn decryption_errors_state_the_reason() {
    let (key, payload) = secret();
    let refused = |rules: &str, value: &[u8]| {
        let read = layout(rules).decode(&key, &Bytes::copy_from_slice(value));
        read.err().unwrap().to_string()
    };
    let plain = StorageLayout::json().encode(&key, &payload).unwrap();
    assert!(refused(&rule("aescbc", 32), &plain).contains("the value is not encrypted"));
    assert!(refused(&rule("aescbc", 32), b"k8s:enc:kms:v2:p:x").contains("provider kms"));
    let other = layout(&rule("secretbox", 32))
        .encode(&key, &payload)
        .unwrap();
    let error = refused(&rule("aescbc", 32), &other);
    assert!(
        error.contains("has its key \"secretbox:v1:key1\""),
        "{error}"
    );
    // With `identity` in second place, unencrypted values are read, and written encrypted.
    let secret = BASE64_STANDARD.encode([7; 32]);
    let both = layout(&format!(
        "- resources: ['*.']\n  providers: [{{secretbox: {{keys: [{{name: b, secret: {secret}}}]}}}}, {{identity: {{}}}}]\n"
    ));
    assert_eq!(both.decode(&key, &plain).unwrap().bytes, payload.bytes);
    assert!(
        both.encode(&key, &payload)
            .unwrap()
            .starts_with(b"k8s:enc:secretbox")
    );
}

#[test]
fn the_first_matching_rule_applies() {
    let secret = BASE64_STANDARD.encode([7; 32]);
    let rule = |resources: &str, name: &str| {
        format!(
            "- resources: {resources}\n  providers: [{{aescbc: {{keys: [{{name: {name}, secret: {secret}}}]}}}}]\n"
        )
    };
    let encryption = configured(&format!(
        "{}{}{}{}",
        rule("[secrets, deployments.apps]", "one"),
        rule("['*.apps']", "two"),
        rule("['*.']", "three"),
        rule("['*.*']", "four")
    ));
    let encryption = encryption.unwrap();
    for (collection, name) in [
        ("secrets", "one"),
        ("apps/deployments", "one"),
        ("apps/daemonsets", "two"),
        ("pods", "three"),
        ("sky.example.com/stars", "four"),
    ] {
        let [Provider::Keys(keys)] = encryption.providers(collection).unwrap() else {
            panic!("{collection}");
        };
        assert!(keys[0].is_named(name), "{collection}");
    }
}

#[test]
fn errors_of_invalid_configurations_contain_no_secrets() {
    let keys = |keys: &str| {
        format!("- resources: [secrets]\n  providers: [{{aescbc: {{keys: [{keys}]}}}}]\n")
    };
    for (rules, expected) in [
        (rule("aescbc", 31), "has 31 bytes instead of 16, 24 or 32"),
        (rule("aesgcm", 24), "aesgcm supports 16 and 32 here"),
        (rule("secretbox", 16), "has 16 bytes instead of 32"),
        (keys("{name: a, secret: '%%SECRET'}"), "is not base64"),
        (keys("{name: 'a:b', secret: AAAA}"), "contains a colon"),
        (keys(""), "has no keys"),
        (
            "- resources: [secrets]\n  providers: [{}]\n".into(),
            "exactly one provider",
        ),
        (
            "- resources: [secrets]\n  providers: []\n".into(),
            "must name resources and providers",
        ),
        (
            "- resources: [secrets]\n  provider: []\n".into(),
            "provider",
        ),
    ] {
        let error = configured(&rules).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(
            !error.contains("SECRET") && error.lines().count() == 1,
            "{error}"
        );
    }
    for text in [
        "",
        "kind: Policy",
        "{",
        "apiVersion: v1\nkind: EncryptionConfiguration\n",
    ] {
        assert!(Encryption::parse(text).is_err(), "{text}");
    }
    assert!(configured("- resources: [secrets]\n  providers: [{kms: {name: p, endpoint: 'unix:///x', apiVersion: v2}}]\n").is_ok());
}
