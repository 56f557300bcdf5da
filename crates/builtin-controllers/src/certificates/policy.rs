//! The contents of issued certificates: validity and usages.

use kubewright_x509::{ExtendedKeyUsage, KeyUsage, Validity};

/// The longest lifetime of a certificate: a year.
const MAX_SECONDS: i64 = 365 * 24 * 3600;
/// The shortest lifetime.
const MIN_SECONDS: i64 = 10 * 60;
/// The time before now at which a certificate becomes valid, since clocks differ.
const BACKDATE_SECONDS: i64 = 5 * 60;
/// Certificates that live shorter than this end late by the time that they are backdated by.
const SHORT_SECONDS: i64 = 8 * 3600;

/// Returns the validity of a certificate that is issued now by an authority whose own ends at `authority_end`.
pub(super) fn validity(
    requested: Option<i32>,
    now: i64,
    authority_end: i64,
) -> Result<Validity, String> {
    if now >= authority_end {
        return Err(format!(
            "the certificate of the authority expired {} seconds ago",
            now - authority_end
        ));
    }
    let lifetime = match requested {
        Some(seconds) => i64::from(seconds).clamp(MIN_SECONDS, MAX_SECONDS),
        None => MAX_SECONDS,
    };
    let end = match lifetime < SHORT_SECONDS {
        true => now + lifetime,
        false => now + lifetime - BACKDATE_SECONDS,
    };
    Ok(Validity {
        not_before: now - BACKDATE_SECONDS,
        not_after: end.min(authority_end),
    })
}

/// Returns the usages of a certificate from those of the API, in a fixed order.
pub(super) fn key_usages(usages: &[&str]) -> Result<(KeyUsage, Vec<ExtendedKeyUsage>), String> {
    let mut of_key = KeyUsage::default();
    let mut of_certificate = Vec::new();
    for usage in usages {
        if let Some(bit) = key_usage(usage) {
            of_key |= bit;
        } else if let Some(purpose) = extended_key_usage(usage) {
            of_certificate.push(purpose);
        } else {
            return Err(format!("unrecognized usage values: [{usage:?}]"));
        }
    }
    of_certificate.sort_unstable();
    of_certificate.dedup();
    Ok((of_key, of_certificate))
}

fn key_usage(usage: &str) -> Option<KeyUsage> {
    Some(match usage {
        "signing" | "digital signature" => KeyUsage::DIGITAL_SIGNATURE,
        "content commitment" => KeyUsage::CONTENT_COMMITMENT,
        "key encipherment" => KeyUsage::KEY_ENCIPHERMENT,
        "key agreement" => KeyUsage::KEY_AGREEMENT,
        "data encipherment" => KeyUsage::DATA_ENCIPHERMENT,
        "cert sign" => KeyUsage::CERT_SIGN,
        "crl sign" => KeyUsage::CRL_SIGN,
        "encipher only" => KeyUsage::ENCIPHER_ONLY,
        "decipher only" => KeyUsage::DECIPHER_ONLY,
        _ => return None,
    })
}

fn extended_key_usage(usage: &str) -> Option<ExtendedKeyUsage> {
    use ExtendedKeyUsage as Purpose;
    Some(match usage {
        "any" => Purpose::Any,
        "server auth" => Purpose::ServerAuth,
        "client auth" => Purpose::ClientAuth,
        "code signing" => Purpose::CodeSigning,
        "email protection" | "s/mime" => Purpose::EmailProtection,
        "ipsec end system" => Purpose::IpsecEndSystem,
        "ipsec tunnel" => Purpose::IpsecTunnel,
        "ipsec user" => Purpose::IpsecUser,
        "timestamping" => Purpose::TimeStamping,
        "ocsp signing" => Purpose::OcspSigning,
        "microsoft sgc" => Purpose::MicrosoftServerGatedCrypto,
        "netscape sgc" => Purpose::NetscapeServerGatedCrypto,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;
    const FAR: i64 = NOW + 100 * MAX_SECONDS;

    #[test]
    fn lifetimes_are_between_ten_minutes_and_a_year() {
        for (requested, lifetime) in [
            (None, MAX_SECONDS - 300),
            (Some(i32::MAX), MAX_SECONDS - 300),
            (Some(600), 600),
            (Some(1), 600),
            (Some(-1), 600),
            (Some(8 * 3600 - 1), 8 * 3600 - 1),
            (Some(8 * 3600), 8 * 3600 - 300),
        ] {
            let validity = validity(requested, NOW, FAR).unwrap();
            assert_eq!(validity.not_before, NOW - 300);
            assert_eq!(validity.not_after, NOW + lifetime, "{requested:?}");
        }
    }

    #[test]
    fn nothing_outlives_the_authority() {
        let validity_until = |end| validity(Some(3600), NOW, end);
        assert_eq!(validity_until(NOW + 60).unwrap().not_after, NOW + 60);
        assert!(validity_until(NOW).is_err());
    }

    #[test]
    fn usages_are_sorted_and_unknown_ones_refused() {
        let (of_key, of_certificate) =
            key_usages(&["s/mime", "client auth", "signing", "email protection"]).unwrap();
        assert_eq!(of_key, KeyUsage::DIGITAL_SIGNATURE);
        let purposes = [
            ExtendedKeyUsage::ClientAuth,
            ExtendedKeyUsage::EmailProtection,
        ];
        assert_eq!(of_certificate, purposes);
        assert_eq!(
            key_usages(&["odd"]).unwrap_err(),
            "unrecognized usage values: [\"odd\"]"
        );
    }
}
