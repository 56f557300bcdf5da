//! [`KeyUsage`] and [`ExtendedKeyUsage`]: the purposes of a certificate.

/// The purposes of a key: a set of bits.
///
/// ```
/// use kubewright_x509::KeyUsage;
///
/// let usage = KeyUsage::DIGITAL_SIGNATURE | KeyUsage::KEY_ENCIPHERMENT;
/// assert!(usage.contains(KeyUsage::DIGITAL_SIGNATURE));
/// assert!(!usage.contains(KeyUsage::CERT_SIGN));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyUsage(u16);

#[allow(missing_docs)]
impl KeyUsage {
    pub const DIGITAL_SIGNATURE: Self = Self(1);
    pub const CONTENT_COMMITMENT: Self = Self(1 << 1);
    pub const KEY_ENCIPHERMENT: Self = Self(1 << 2);
    pub const DATA_ENCIPHERMENT: Self = Self(1 << 3);
    pub const KEY_AGREEMENT: Self = Self(1 << 4);
    pub const CERT_SIGN: Self = Self(1 << 5);
    pub const CRL_SIGN: Self = Self(1 << 6);
    pub const ENCIPHER_ONLY: Self = Self(1 << 7);
    pub const DECIPHER_ONLY: Self = Self(1 << 8);
}

impl KeyUsage {
    /// Returns whether it includes all purposes of another.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether there is no purpose.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the bits as an extension holds them, and the number of unused ones.
    pub(crate) fn bits(self) -> (Vec<u8>, u8) {
        let [low, high] = self.0.to_le_bytes().map(u8::reverse_bits);
        let bytes = match high {
            0 => vec![low],
            high => vec![low, high],
        };
        let unused = bytes.last().map_or(0, |last| last.trailing_zeros().min(7));
        (bytes, unused as u8)
    }
}

impl std::ops::BitOr for KeyUsage {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for KeyUsage {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A purpose of a certificate, in the order in which Go writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum ExtendedKeyUsage {
    Any,
    ServerAuth,
    ClientAuth,
    CodeSigning,
    EmailProtection,
    IpsecEndSystem,
    IpsecTunnel,
    IpsecUser,
    TimeStamping,
    OcspSigning,
    MicrosoftServerGatedCrypto,
    NetscapeServerGatedCrypto,
}

impl ExtendedKeyUsage {
    const ALL: [Self; 12] = [
        Self::Any,
        Self::ServerAuth,
        Self::ClientAuth,
        Self::CodeSigning,
        Self::EmailProtection,
        Self::IpsecEndSystem,
        Self::IpsecTunnel,
        Self::IpsecUser,
        Self::TimeStamping,
        Self::OcspSigning,
        Self::MicrosoftServerGatedCrypto,
        Self::NetscapeServerGatedCrypto,
    ];

    /// Returns the purpose with an identifier, if it is known.
    pub(crate) fn of(oid: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|usage| usage.oid() == oid)
    }

    /// Returns the identifier, as the contents of its encoding.
    pub(crate) fn oid(self) -> &'static [u8] {
        match self {
            Self::Any => &[0x55, 0x1d, 0x25, 0],
            Self::ServerAuth => &[0x2b, 6, 1, 5, 5, 7, 3, 1],
            Self::ClientAuth => &[0x2b, 6, 1, 5, 5, 7, 3, 2],
            Self::CodeSigning => &[0x2b, 6, 1, 5, 5, 7, 3, 3],
            Self::EmailProtection => &[0x2b, 6, 1, 5, 5, 7, 3, 4],
            Self::IpsecEndSystem => &[0x2b, 6, 1, 5, 5, 7, 3, 5],
            Self::IpsecTunnel => &[0x2b, 6, 1, 5, 5, 7, 3, 6],
            Self::IpsecUser => &[0x2b, 6, 1, 5, 5, 7, 3, 7],
            Self::TimeStamping => &[0x2b, 6, 1, 5, 5, 7, 3, 8],
            Self::OcspSigning => &[0x2b, 6, 1, 5, 5, 7, 3, 9],
            Self::MicrosoftServerGatedCrypto => &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 10, 3, 3],
            Self::NetscapeServerGatedCrypto => &[0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 4, 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_written_from_the_left() {
        let usage = KeyUsage::DIGITAL_SIGNATURE | KeyUsage::KEY_ENCIPHERMENT;
        assert_eq!(usage.bits(), (vec![0b1010_0000], 5));
        assert_eq!(KeyUsage::DECIPHER_ONLY.bits(), (vec![0, 0x80], 7));
        assert!(KeyUsage::default().is_empty());
    }

    #[test]
    fn every_purpose_is_found_by_its_identifier() {
        for usage in ExtendedKeyUsage::ALL {
            assert_eq!(ExtendedKeyUsage::of(usage.oid()), Some(usage));
        }
        assert_eq!(ExtendedKeyUsage::of(&[1]), None);
    }
}
