//! Encryption providers with their keys.
//!
//! `aescbc` writes a random IV and the padded ciphertext, without integrity protection. `aesgcm` writes a nonce and the sealed
//! value, authenticated together with its etcd key. `secretbox` writes a nonce, the tag and the ciphertext of NaCl's
//! construction: XSalsa20, where the first 32 bytes of the key stream are the key of Poly1305.

use std::fmt;

use aes::{Aes128, Aes192, Aes256};
use bytes::Bytes;
use cbc::cipher::{
    BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, StreamCipher, block_padding::Pkcs7,
};
use poly1305::{Poly1305, universal_hash::KeyInit};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use salsa20::XSalsa20;
use subtle::ConstantTimeEq;

/// The prefix of encrypted values.
const ENCRYPTED: &[u8] = b"k8s:enc:";
const KMS: &[u8] = b"k8s:enc:kms:";
/// The largest number of bytes of a value that an error shows.
const MAX_HEAD: usize = 100;

/// The length of the IV of `aescbc`.
const IV: usize = 16;
/// The length of the nonce of `aesgcm`.
const GCM_NONCE: usize = 12;
/// The lengths of the nonce and the tag of `secretbox`.
const BOX_NONCE: usize = 24;
const BOX_TAG: usize = 16;

/// A provider. Its first key encrypts.
#[derive(Debug)]
pub(super) enum Provider {
    /// Values are not encrypted.
    Identity,
    /// An external plug-in, which is not supported: its values cannot be decrypted.
    Kms,
    Keys(Vec<SealingKey>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    AesCbc,
    AesGcm,
    Secretbox,
}

/// A key, with the prefix of the values that it encrypts.
pub(super) struct SealingKey {
    /// `k8s:enc:aescbc:v1:key1:`
    head: String,
    name: String,
    secret: Secret,
}

enum Secret {
    Cbc128([u8; 16]),
    Cbc192([u8; 24]),
    Cbc256([u8; 32]),
    Gcm(Box<LessSafeKey>),
    Secretbox([u8; 32]),
}

/// A value that cannot be decrypted or encrypted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderError {
    #[error("the value is encrypted by the provider kms, which is not supported")]
    Kms,
    #[error("the value is encrypted, and no configured provider has its key {0:?}")]
    NoKey(String),
    #[error("the value is not encrypted, and the provider identity is not configured")]
    Plain,
    #[error(
        "the key {0:?} does not decrypt the value: it was encrypted with another key, or it is corrupt"
    )]
    Failed(String),
}

/// Decrypts a value with the provider that has its key.
pub(super) fn open(
    providers: &[Provider],
    whole: &str,
    value: &Bytes,
) -> Result<Bytes, ProviderError> {
    if !value.starts_with(ENCRYPTED) {
        let is_allowed = |provider: &Provider| matches!(provider, Provider::Identity);
        return match providers.iter().any(is_allowed) {
            true => Ok(value.clone()),
            false => Err(ProviderError::Plain),
        };
    }
    let keys = providers.iter().flat_map(|provider| match provider {
        Provider::Keys(keys) => keys.as_slice(),
        Provider::Identity | Provider::Kms => &[],
    });
    // Several keys may have the same name; kube-apiserver tries all of them.
    let mut failed = None;
    for key in keys {
        if let Some(body) = value.strip_prefix(key.head.as_bytes()) {
            match key.secret.open(whole, body) {
                Some(plain) => return Ok(plain.into()),
                None => failed = Some(ProviderError::Failed(key.name.clone())),
            }
        }
    }
    Err(match failed {
        Some(failed) => failed,
        None if value.starts_with(KMS) => ProviderError::Kms,
        None => ProviderError::NoKey(head_of(value)),
    })
}

/// Returns the provider and key name of an encrypted value: `aescbc:v1:key1`.
fn head_of(value: &[u8]) -> String {
    let rest = value.strip_prefix(ENCRYPTED).unwrap_or(value);
    let rest = rest.get(..MAX_HEAD).unwrap_or(rest);
    let parts: Vec<&[u8]> = rest.splitn(4, |byte| *byte == b':').take(3).collect();
    String::from_utf8_lossy(&parts.join(&b':')).into_owned()
}

impl Provider {
    /// Encrypts a value for an etcd key.
    pub(super) fn seal(&self, whole: &str, value: Bytes) -> Result<Bytes, ProviderError> {
        let key = match self {
            Self::Identity => return Ok(value),
            Self::Kms => return Err(ProviderError::Kms),
            Self::Keys(keys) => keys.first(),
        };
        let key = key.ok_or_else(|| ProviderError::NoKey(String::new()))?;
        let mut sealed = key.head.clone().into_bytes();
        let body = key.secret.seal(whole, &value);
        sealed.extend(body.ok_or_else(|| ProviderError::Failed(key.name.clone()))?);
        Ok(sealed.into())
    }
}

impl SealingKey {
    pub(super) fn new(cipher: Cipher, name: &str, secret: &[u8]) -> Result<Self, String> {
        let kind = match cipher {
            Cipher::AesCbc => "aescbc",
            Cipher::AesGcm => "aesgcm",
            Cipher::Secretbox => "secretbox",
        };
        Ok(Self {
            head: format!("k8s:enc:{kind}:v1:{name}:"),
            name: name.to_owned(),
            secret: Secret::new(cipher, secret)?,
        })
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name
    }
}

/// Omits the secret.
impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingKey")
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

impl Secret {
    fn new(cipher: Cipher, secret: &[u8]) -> Result<Self, String> {
        let length = secret.len();
        let gcm = |algorithm| {
            let key = UnboundKey::new(algorithm, secret);
            let key = key.map_err(|_| "cannot be used".to_owned())?;
            Ok(Self::Gcm(Box::new(LessSafeKey::new(key))))
        };
        match cipher {
            Cipher::AesCbc => match length {
                16 => Ok(Self::Cbc128(sized(secret)?)),
                24 => Ok(Self::Cbc192(sized(secret)?)),
                32 => Ok(Self::Cbc256(sized(secret)?)),
                _ => Err(format!("has {length} bytes instead of 16, 24 or 32")),
            },
            Cipher::AesGcm => match length {
                16 => gcm(&AES_128_GCM),
                32 => gcm(&AES_256_GCM),
                24 => Err("has 24 bytes, and aesgcm supports 16 and 32 here".to_owned()),
                _ => Err(format!("has {length} bytes instead of 16 or 32")),
            },
            Cipher::Secretbox => match length {
                32 => Ok(Self::Secretbox(sized(secret)?)),
                _ => Err(format!("has {length} bytes instead of 32")),
            },
        }
    }

    fn open(&self, whole: &str, body: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Gcm(key) => {
                let (nonce, sealed) = body.split_first_chunk::<GCM_NONCE>()?;
                let nonce = Nonce::assume_unique_for_key(*nonce);
                let mut buffer = sealed.to_vec();
                let opened = key.open_in_place(nonce, Aad::from(whole), &mut buffer);
                let length = opened.ok()?.len();
                buffer.truncate(length);
                Some(buffer)
            }
            Self::Secretbox(key) => {
                let (nonce, rest) = body.split_first_chunk::<BOX_NONCE>()?;
                let (tag, sealed) = rest.split_first_chunk::<BOX_TAG>()?;
                let (mut stream, expected) = secretbox(key, nonce, sealed)?;
                if !bool::from(expected.ct_eq(tag)) {
                    return None;
                }
                let mut buffer = sealed.to_vec();
                stream.try_apply_keystream(&mut buffer).ok()?;
                Some(buffer)
            }
            _ => {
                let (iv, sealed) = body.split_first_chunk::<IV>()?;
                match self {
                    Self::Cbc128(key) => decrypt::<cbc::Decryptor<Aes128>>(key, iv, sealed),
                    Self::Cbc192(key) => decrypt::<cbc::Decryptor<Aes192>>(key, iv, sealed),
                    Self::Cbc256(key) => decrypt::<cbc::Decryptor<Aes256>>(key, iv, sealed),
                    Self::Gcm(_) | Self::Secretbox(_) => None,
                }
            }
        }
    }

    fn seal(&self, whole: &str, value: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Gcm(key) => {
                let nonce: [u8; GCM_NONCE] = rand::random();
                let mut body = value.to_vec();
                let unique = Nonce::assume_unique_for_key(nonce);
                let sealed = key.seal_in_place_append_tag(unique, Aad::from(whole), &mut body);
                sealed.ok()?;
                Some([&nonce[..], &body].concat())
            }
            Self::Secretbox(key) => {
                let nonce: [u8; BOX_NONCE] = rand::random();
                let mut stream = keystream(key, &nonce)?;
                let one_time = one_time_key(&mut stream)?;
                let mut sealed = value.to_vec();
                stream.try_apply_keystream(&mut sealed).ok()?;
                let tag = authenticator(&one_time, &sealed);
                Some([&nonce[..], &tag, &sealed].concat())
            }
            _ => {
                let iv: [u8; IV] = rand::random();
                let sealed = match self {
                    Self::Cbc128(key) => encrypt::<cbc::Encryptor<Aes128>>(key, &iv, value),
                    Self::Cbc192(key) => encrypt::<cbc::Encryptor<Aes192>>(key, &iv, value),
                    Self::Cbc256(key) => encrypt::<cbc::Encryptor<Aes256>>(key, &iv, value),
                    Self::Gcm(_) | Self::Secretbox(_) => None,
                };
                Some([&iv[..], &sealed?].concat())
            }
        }
    }
}

fn sized<const N: usize>(secret: &[u8]) -> Result<[u8; N], String> {
    secret.try_into().map_err(|_| "cannot be used".to_owned())
}

fn decrypt<C: BlockModeDecrypt + KeyIvInit>(
    key: &[u8],
    iv: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    let cipher = C::new_from_slices(key, iv).ok()?;
    cipher.decrypt_padded_vec::<Pkcs7>(sealed).ok()
}

fn encrypt<C: BlockModeEncrypt + KeyIvInit>(
    key: &[u8],
    iv: &[u8],
    value: &[u8],
) -> Option<Vec<u8>> {
    let cipher = C::new_from_slices(key, iv).ok()?;
    Some(cipher.encrypt_padded_vec::<Pkcs7>(value))
}

/// Returns the rest of the key stream, and the expected tag of a box.
fn secretbox(
    key: &[u8; 32],
    nonce: &[u8; BOX_NONCE],
    sealed: &[u8],
) -> Option<(XSalsa20, [u8; BOX_TAG])> {
    let mut stream = keystream(key, nonce)?;
    let one_time = one_time_key(&mut stream)?;
    Some((stream, authenticator(&one_time, sealed)))
}

fn keystream(key: &[u8; 32], nonce: &[u8; BOX_NONCE]) -> Option<XSalsa20> {
    XSalsa20::new_from_slices(key, nonce).ok()
}

/// Takes the first bytes of a key stream, which are the key of the authenticator.
fn one_time_key(stream: &mut XSalsa20) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    stream.try_apply_keystream(&mut key).ok()?;
    Some(key)
}

fn authenticator(one_time: &[u8; 32], sealed: &[u8]) -> [u8; BOX_TAG] {
    Poly1305::new(one_time.into())
        .compute_unpadded(sealed)
        .into()
}
