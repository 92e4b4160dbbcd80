//! The guard: no page of the outside may make the crawler ask inside the user's own network.
//!
//! It judges *addresses*, after resolving and just before connecting, so that neither a
//! redirect nor a name that changes its address between check and use (DNS rebinding) gets
//! around it. Ranges after the IANA special-purpose registries (RFC 6890 and successors).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address lies outside the public Internet: loopback, private, shared (CGNAT),
/// link-local with the clouds' metadata services, multicast, reserved, unspecified; and
/// IPv6 addresses that embed such an IPv4 address (mapped, 6to4, NAT64).
///
/// # Examples
/// ```
/// use crivello_crawl::fetch::guard::is_private;
/// assert!(is_private("169.254.169.254".parse()?));
/// assert!(!is_private("93.184.215.14".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => private_v4(ip),
        IpAddr::V6(ip) => private_v6(ip),
    }
}

fn private_v4(ip: Ipv4Addr) -> bool {
    matches!(
        ip.octets(),
        [0 | 10 | 127 | 224..=255, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [192, 0, 0 | 2, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    )
}

#[expect(clippy::match_same_arms)] // embedded addresses are judged form by form
fn private_v6(ip: Ipv6Addr) -> bool {
    let s = ip.segments();
    let embedded =
        |high: u16, low: u16| private_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match s {
        // Mapped (::ffff:0:0/96) and NAT64 (64:ff9b::/96).
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        // Unspecified, loopback, and the old IPv4-compatible form.
        [0, 0, 0, 0, 0, 0, ..] => true,
        [0x2002, high, low, ..] => embedded(high, low),
        // Local-use NAT64, discard, Teredo and documentation.
        [0x64, 0xff9b, 1, ..] | [0x100, 0, 0, 0, ..] | [0x2001, 0 | 0xdb8, ..] => true,
        // Unique local fc00::/7, link-local fe80::/10, site-local fec0::/10, multicast ff00::/8.
        [first, ..] => {
            first & 0xfe00 == 0xfc00 || first & 0xff80 == 0xfe80 || first & 0xff00 == 0xff00
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ones_own_network_are_private() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "100.100.100.200",
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_not() {
        for text in [
            "1.1.1.1",
            "93.184.215.14",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "223.255.255.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::",
        ] {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }
}
