//! What a page asks of robots: `<meta name=robots>` and the `X-Robots-Tag` header.

use std::ops::{BitOr, BitOrAssign};

/// A set of directives. Those for all robots and those for our product token add up: the most
/// restrictive reading, as search engines document theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsFlags(pub u16);

impl RobotsFlags {
    /// Do not index the page.
    pub const NOINDEX: Self = Self(1);
    /// Do not follow its links.
    pub const NOFOLLOW: Self = Self(1 << 1);
    /// Do not offer a stored copy.
    pub const NOARCHIVE: Self = Self(1 << 2);
    /// Do not show an excerpt.
    pub const NOSNIPPET: Self = Self(1 << 3);
    /// Do not index its images.
    pub const NOIMAGEINDEX: Self = Self(1 << 4);
    /// Do not offer a translation.
    pub const NOTRANSLATE: Self = Self(1 << 5);
    /// Do not cache: `http-equiv=pragma` or `cache-control` with `no-cache`.
    pub const NOCACHE: Self = Self(1 << 6);

    /// Whether all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The directives of a list such as `noindex, nofollow`.
    pub fn parse(list: &str) -> Self {
        list.split([',', ' ', '\t', '\n', '\r', ';'])
            .fold(Self::default(), |flags, word| flags | Self::word(word.trim_ascii()))
    }

    /// The directives of one `X-Robots-Tag` value, which may begin with the name of the robot
    /// that they are for: `crivello: noindex, nofollow`.
    pub fn from_header(value: &str, agent_token: &str) -> Self {
        let first = value.split(',').next().unwrap_or_default();
        match first.split_once(':') {
            Some((name, _)) if is_directive(name.trim_ascii()) => Self::parse(value),
            Some((name, _)) if name.trim_ascii().eq_ignore_ascii_case(agent_token) => {
                Self::parse(&value[name.len() + 1..])
            }
            Some(_) => Self::default(),
            None => Self::parse(value),
        }
    }

    fn word(word: &str) -> Self {
        const WORDS: [(&str, RobotsFlags); 8] = [
            ("noindex", RobotsFlags::NOINDEX),
            ("nofollow", RobotsFlags::NOFOLLOW),
            ("none", RobotsFlags(3)),
            ("noarchive", RobotsFlags::NOARCHIVE),
            ("nocache", RobotsFlags::NOARCHIVE),
            ("nosnippet", RobotsFlags::NOSNIPPET),
            ("noimageindex", RobotsFlags::NOIMAGEINDEX),
            ("notranslate", RobotsFlags::NOTRANSLATE),
        ];
        WORDS
            .iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name))
            .map_or(Self::default(), |&(_, flags)| flags)
    }
}

/// Directives that have a value after a colon, and so are not names of robots.
fn is_directive(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|directive| name.eq_ignore_ascii_case(directive))
}

impl BitOr for RobotsFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for RobotsFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::RobotsFlags;

    #[test]
    fn a_header_for_another_robot_is_not_ours() {
        let flags = |value| RobotsFlags::from_header(value, "crivello");
        assert_eq!(flags("googlebot: noindex"), RobotsFlags::default());
        assert_eq!(flags("Crivello: noindex"), RobotsFlags::NOINDEX);
        assert_eq!(flags("none"), RobotsFlags::NOINDEX | RobotsFlags::NOFOLLOW);
        assert_eq!(flags("unavailable_after: 1 Jan 2030, nofollow"), RobotsFlags::NOFOLLOW);
    }
}
