//! Registrable domains, by the public suffix list (ICANN and private sections).

/// The registrable domain of a host: the public suffix and one label more.
///
/// Takes a host with or without a port. IP addresses, public suffixes themselves and names
/// without a dot are their own domain. The default rule `*` of the list holds for suffixes
/// that it does not know.
///
/// # Examples
/// ```
/// use crivello_crawl::url::domain;
/// assert_eq!(domain("www.example.co.uk"), "example.co.uk");
/// assert_eq!(domain("shop.example.org:8080"), "example.org");
/// assert_eq!(domain("127.0.0.1"), "127.0.0.1");
/// ```
pub fn domain(host: &str) -> &str {
    if host.starts_with('[') {
        return host.find(']').map_or(host, |end| &host[..=end]);
    }
    let name = host.find(':').map_or(host, |colon| &host[..colon]);
    let last = name.rsplit('.').find(|label| !label.is_empty()).unwrap_or("");
    if last.bytes().all(|byte| byte.is_ascii_digit()) {
        return name; // in a normalised host only IPv4 addresses end in a number
    }
    psl::domain_str(name).filter(|domain| !domain.starts_with('.')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::domain;

    #[test]
    fn a_domain_is_the_public_suffix_and_one_label() {
        assert_eq!(domain("a.b.example.com"), "example.com");
        assert_eq!(domain("b.c.kobe.jp"), "b.c.kobe.jp");
        assert_eq!(domain("www.city.kobe.jp"), "city.kobe.jp");
        assert_eq!(domain("me.github.io"), "me.github.io");
        assert_eq!(domain("www.site3.sim"), "site3.sim");
    }

    #[test]
    fn what_has_no_domain_is_its_own() {
        for host in ["com", "co.uk", "localhost", "127.0.0.1", "[::1]", "", ".", "..", ".com"] {
            assert_eq!(domain(host), host);
        }
        assert_eq!(domain("[::1]:80"), "[::1]");
        assert_eq!(domain("10.0.0.1:8080"), "10.0.0.1");
    }
}
