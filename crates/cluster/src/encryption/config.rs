//! Parses and validates the configuration.

use base64::{Engine, prelude::BASE64_STANDARD};
use kubewright_schema::{decode_untyped, yaml::parse_yaml};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Pattern, Rule,
    provider::{Cipher, Provider, SealingKey},
};

const VERSION: &str = "apiserver.config.k8s.io/v1";
const KIND: &str = "EncryptionConfiguration";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    api_version: String,
    kind: String,
    #[serde(default)]
    resources: Vec<RuleFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    resources: Vec<String>,
    providers: Vec<ProviderFile>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ProviderFile {
    aescbc: Option<KeysFile>,
    aesgcm: Option<KeysFile>,
    secretbox: Option<KeysFile>,
    identity: Option<Identity>,
    kms: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysFile {
    keys: Vec<KeyFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    name: String,
    secret: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {}

pub(super) fn parse(text: &[u8]) -> Result<Vec<Rule>, String> {
    let yaml = parse_yaml(text).map_err(|e| e.to_string())?;
    let (value, _) = decode_untyped(yaml.node).map_err(|e| e.to_string())?;
    let file: File = serde_json::from_value(value).map_err(|e| e.to_string())?;
    if (&*file.api_version, &*file.kind) != (VERSION, KIND) {
        let (version, kind) = (file.api_version, file.kind);
        return Err(format!(
            "expected kind {KIND:?} of {VERSION:?}, found {kind:?} of {version:?}"
        ));
    }
    if file.resources.is_empty() {
        return Err("`resources` is empty".to_owned());
    }
    let rules = file.resources.into_iter().enumerate();
    rules.map(|(at, file)| rule(at, file)).collect()
}

fn rule(at: usize, file: RuleFile) -> Result<Rule, String> {
    let path = format!("resources[{at}]");
    if file.resources.is_empty() || file.providers.is_empty() {
        return Err(format!("{path} must name resources and providers"));
    }
    let providers = file.providers.into_iter().enumerate();
    let providers = providers.map(|(n, file)| provider(&format!("{path}.providers[{n}]"), file));
    Ok(Rule {
        resources: file.resources.iter().map(|text| pattern(text)).collect(),
        providers: providers.collect::<Result<_, _>>()?,
    })
}

fn pattern(text: &str) -> Pattern {
    let (resource, group) = text.split_once('.').unwrap_or((text, ""));
    match (resource, group) {
        ("*", "*") => Pattern::All,
        ("*", group) => Pattern::Group(group.to_owned()),
        (resource, group) => Pattern::Resource {
            group: group.to_owned(),
            resource: resource.to_owned(),
        },
    }
}

fn provider(path: &str, file: ProviderFile) -> Result<Provider, String> {
    let given = [
        file.aescbc.is_some(),
        file.aesgcm.is_some(),
        file.secretbox.is_some(),
        file.identity.is_some(),
        file.kms.is_some(),
    ];
    if given.iter().filter(|given| **given).count() != 1 {
        return Err(format!("{path} must have exactly one provider"));
    }
    let keys = |cipher, file: KeysFile| keys(path, cipher, file);
    match file {
        ProviderFile {
            aescbc: Some(file), ..
        } => keys(Cipher::AesCbc, file),
        ProviderFile {
            aesgcm: Some(file), ..
        } => keys(Cipher::AesGcm, file),
        ProviderFile {
            secretbox: Some(file),
            ..
        } => keys(Cipher::Secretbox, file),
        ProviderFile {
            identity: Some(_), ..
        } => Ok(Provider::Identity),
        _ => Ok(Provider::Kms),
    }
}

fn keys(path: &str, cipher: Cipher, file: KeysFile) -> Result<Provider, String> {
    if file.keys.is_empty() {
        return Err(format!("{path} has no keys"));
    }
    let mut keys: Vec<SealingKey> = Vec::new();
    for KeyFile { name, secret } in file.keys {
        if name.is_empty() || name.contains(':') {
            return Err(format!(
                "{path} has a key whose name is empty or contains a colon"
            ));
        }
        if keys.iter().any(|key| key.is_named(&name)) {
            return Err(format!("{path} has two keys named {name:?}"));
        }
        // The message must not contain the secret.
        let secret = BASE64_STANDARD.decode(secret);
        let secret =
            secret.map_err(|_| format!("{path}: the secret of key {name:?} is not base64"))?;
        let key = SealingKey::new(cipher, &name, &secret);
        keys.push(key.map_err(|why| format!("{path}: the key {name:?} {why}"))?);
    }
    Ok(Provider::Keys(keys))
}
