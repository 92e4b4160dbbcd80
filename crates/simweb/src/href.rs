//! References: one target, the many ways in which pages write it.
//!
//! Links that hold the web together (`sure`) are path-absolute or relative to the page's own
//! path, so that a mirror keeps them inside itself and a reader that overlooks `base` still
//! finds them. The others are written in every way that RFC 3986 allows, in the wild profile
//! also in those that only browsers understand.

use crate::World;
use crate::hosts::Host;
use crate::rng::{Rng, mix};
use crate::slots::{Kind, Slot, put};

/// Writes the references of one page.
pub struct Hrefs<'a> {
    world: &'a World,
    host: &'a Host,
    name: Vec<u8>,
    own: Vec<u8>,
    base: Option<Vec<u8>>,
    path: Vec<u8>,
}

impl<'a> Hrefs<'a> {
    /// The references of a page that stands at the path of page `at`.
    pub fn new(world: &'a World, host: &'a Host, slot: &Slot, at: u32) -> Self {
        let mut name = Vec::with_capacity(32);
        world.write_host(host.id, &mut name);
        let mut own = Vec::with_capacity(64);
        world.write_path(host, at, &mut own);
        let draw = mix(slot.seed, 0xba5e);
        let base = (draw.is_multiple_of(24) && slot.kind != Kind::Frames).then(|| {
            let word = world.path_words().word(draw >> 8 & 0xff);
            [b"/", word, b"/base/"].concat()
        });
        Self { world, host, name, own, base, path: Vec::with_capacity(64) }
    }

    /// The page's own host name and path.
    pub fn own(&self) -> (&[u8], &[u8]) {
        (&self.name, &self.own)
    }

    /// The `base` element, on a page that has one.
    pub fn write_base(&self, out: &mut Vec<u8>) {
        if let Some(base) = &self.base {
            put(out, &[b"<base href=\"http://", &self.name, base, b"\">\n"]);
        }
    }

    /// What stands before the fragment of a reference to the page itself: with `base`, its path.
    pub fn top(&self, out: &mut Vec<u8>) {
        if self.base.is_some() {
            escape(&self.own, out);
        }
    }

    /// A path-absolute reference without quotes around it.
    pub fn plain(&mut self, host: &Host, index: u32, out: &mut Vec<u8>) {
        self.target(host, index);
        escape(&self.path, out);
    }

    /// The `href` of a link that must be found.
    pub fn sure(&mut self, index: u32, rng: &mut Rng, out: &mut Vec<u8>) {
        self.target(self.host, index);
        out.extend_from_slice(b"href=\"");
        if self.base.is_none() && rng.one_in(3) {
            relative(&self.own, &self.path, out);
        } else {
            escape(&self.path, out);
        }
        out.push(b'"');
    }

    /// The `href` of any other link, in one of many forms.
    pub fn extra(&mut self, to: &Host, index: u32, rng: &mut Rng, out: &mut Vec<u8>) {
        self.target(to, index);
        let draw = rng.next();
        let quote: &[u8] = match draw & 15 {
            0..4 => b"'",
            4 if self.path.last().is_some_and(u8::is_ascii_alphanumeric)
                && !self.path.contains(&b'?')
                && to.id == self.host.id =>
            {
                put(out, &[b"href=", &self.path]);
                return;
            }
            _ => b"\"",
        };
        put(out, &[if draw & 0x1f0 == 0 { b"HREF = " } else { b"href=" }, quote]);
        let odd = self.world.is_wild() && (draw >> 16).is_multiple_of(24);
        let spaced = odd && to.id == self.host.id && (draw >> 24).is_multiple_of(5);
        if to.id != self.host.id {
            let other = &mut Vec::with_capacity(32);
            self.world.write_host(to.id, other);
            match (draw >> 10) & 3 {
                0 => put(out, &[b"//", other]),
                1 if odd => put(out, &[b"HTTP://", &other.to_ascii_uppercase(), b":80"]),
                _ => put(out, &[b"http://", other]),
            }
            escape(&self.path, out);
        } else if odd {
            self.odd(draw >> 24, out);
        } else {
            match (draw >> 10) % 10 {
                0..5 => escape(&self.path, out),
                5..8 => relative(self.base.as_ref().unwrap_or(&self.own), &self.path, out),
                8 => {
                    put(out, &[b"http://", &self.name]);
                    escape(&self.path, out);
                }
                _ => {
                    put(out, &[b"//", &self.name]);
                    escape(&self.path, out);
                }
            }
        }
        if (draw >> 32).is_multiple_of(12) {
            out.extend_from_slice(b"#main");
        }
        if spaced {
            out.push(b' '); // after the fragment: in front of it, it would be part of the path
        }
        out.extend_from_slice(quote);
    }

    /// A reference inside the host as only a browser understands it.
    fn odd(&self, draw: u64, out: &mut Vec<u8>) {
        match draw % 5 {
            0 => {
                out.extend_from_slice(b" \n");
                escape(&self.path, out);
            }
            1 => {
                out.extend_from_slice(b"/./some/../");
                escape(&self.path[1..], out);
            }
            2 => {
                put(out, &[b"http://", &self.name, b":80"]);
                escape(&self.path, out);
            }
            3 => put(out, &[&self.path]),
            _ => {
                put(out, &[b"Http:\\\\", &self.name]);
                escape(&self.path, out);
            }
        }
    }

    fn target(&mut self, host: &Host, index: u32) {
        self.path.clear();
        self.world.write_path(host, index, &mut self.path);
    }
}

/// Appends a reference with its ampersands escaped.
pub fn escape(reference: &[u8], out: &mut Vec<u8>) {
    match reference.iter().position(|&byte| byte == b'&') {
        None => out.extend_from_slice(reference),
        Some(at) => {
            put(out, &[&reference[..at], b"&amp;"]);
            escape(&reference[at + 1..], out);
        }
    }
}

/// Appends the relative reference that leads from one path to another.
fn relative(from: &[u8], to: &[u8], out: &mut Vec<u8>) {
    let directory = |path: &[u8]| {
        let end = path.iter().position(|&byte| byte == b'?').unwrap_or(path.len());
        path[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1)
    };
    let (from, to_directory) = (&from[..directory(from)], directory(to));
    let same = from.iter().zip(&to[..to_directory]).take_while(|(a, b)| a == b).count();
    let shared = from[..same].iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let up = from[shared..].split(|&byte| byte == b'/').count() - 1;
    for _ in 0..up {
        out.extend_from_slice(b"../");
    }
    if up == 0 && to.len() == shared {
        out.extend_from_slice(b"./");
    } else {
        escape(&to[shared..], out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_references_climb_and_descend() {
        let check = |from: &str, to: &str, expected: &str| {
            let mut out = Vec::new();
            relative(from.as_bytes(), to.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{from} -> {to}");
        };
        check("/", "/a/b", "a/b");
        check("/a/b", "/a/c", "c");
        check("/a/b/", "/a/c", "../c");
        check("/a/b/c", "/x/y/", "../../x/y/");
        check("/a/b", "/a/", "./");
        check("/a/b/c", "/a/", "../");
        check("/a/b", "/", "../");
        check("/index.php?a=/x/&b=1", "/index.php?id=2&c=3", "index.php?id=2&amp;c=3");
        check("/abc/d", "/abd/e", "../abd/e");
    }
}
