//! The addresses that services get their cluster IPs from.

use std::{fmt, net::Ipv4Addr, str::FromStr};

/// An IPv4 network that cluster IPs are taken from. The first address belongs to the Service `kubernetes`.
///
/// ```
/// use kubewright_kube_apiserver::ServiceRange;
///
/// let range: ServiceRange = "10.43.0.0/16".parse()?;
/// assert_eq!(range.first().to_string(), "10.43.0.1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRange {
    network: u32,
    prefix: u32,
}

/// A text that is not a range of cluster IPs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceRangeError {
    /// The text is not an IPv4 network.
    #[error(
        "{0:?} is not an IPv4 network; write an address and a prefix length, such as 10.96.0.0/12"
    )]
    NotANetwork(String),
    /// The network has fewer than eight addresses.
    #[error("{0} has fewer than 8 addresses; use a prefix of at most 29 bits")]
    TooSmall(ServiceRange),
    /// The network has more than 2^24 addresses.
    #[error("{0} is too large; use a prefix of at least 8 bits")]
    TooLarge(ServiceRange),
}

impl ServiceRange {
    /// Returns the first address that can be given out.
    pub fn first(&self) -> Ipv4Addr {
        Ipv4Addr::from(self.network + 1)
    }

    /// Returns how many addresses can be given out. Neither the network's own address nor the broadcast address is.
    pub fn size(&self) -> u32 {
        (1 << (32 - self.prefix)) - 2
    }

    /// Reports whether an address can be given out.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        let first = u32::from(self.first());
        u32::from(address)
            .checked_sub(first)
            .is_some_and(|offset| offset < self.size())
    }
}

impl Default for ServiceRange {
    /// `10.96.0.0/12`, the range of clusters made with kubeadm.
    fn default() -> Self {
        Self {
            network: u32::from(Ipv4Addr::new(10, 96, 0, 0)),
            prefix: 12,
        }
    }
}

impl FromStr for ServiceRange {
    type Err = ServiceRangeError;

    fn from_str(text: &str) -> Result<Self, ServiceRangeError> {
        let wrong = || ServiceRangeError::NotANetwork(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let prefix: u32 = prefix.parse().map_err(|_| wrong())?;
        if prefix > 32 {
            return Err(wrong());
        }
        let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
        let range = Self {
            network: u32::from(address) & mask,
            prefix,
        };
        match prefix {
            0..8 => Err(ServiceRangeError::TooLarge(range)),
            8..=29 => Ok(range),
            _ => Err(ServiceRangeError::TooSmall(range)),
        }
    }
}

impl fmt::Display for ServiceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.network), self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_network() {
        let range: ServiceRange = "10.0.0.77/24".parse().unwrap();
        assert_eq!(range.to_string(), "10.0.0.0/24");
        assert_eq!(range.first(), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(range.size(), 254);
        for (address, inside) in [
            ("10.0.0.0", false),
            ("10.0.0.1", true),
            ("10.0.0.254", true),
            ("10.0.0.255", false),
            ("9.0.0.1", false),
        ] {
            assert_eq!(
                range.contains(address.parse().unwrap()),
                inside,
                "{address}"
            );
        }
        assert_eq!(ServiceRange::default().to_string(), "10.96.0.0/12");
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/33",
            "fd00::/108",
            "a/8",
            "10.0.0.0/x",
        ] {
            let error = text.parse::<ServiceRange>().unwrap_err();
            assert_eq!(error, ServiceRangeError::NotANetwork(text.to_owned()));
        }
        for text in ["10.0.0.0/30", "10.0.0.0/32"] {
            let error = text.parse::<ServiceRange>().unwrap_err();
            assert!(matches!(error, ServiceRangeError::TooSmall(_)));
        }
        for text in ["0.0.0.0/0", "10.0.0.0/7"] {
            let error = text.parse::<ServiceRange>().unwrap_err();
            assert!(matches!(error, ServiceRangeError::TooLarge(_)));
        }
    }
}
