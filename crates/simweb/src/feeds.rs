//! Feeds and sitemaps: pages that are not HTML.

use crate::World;
use crate::dates;
use crate::hosts::Host;
use crate::language::{Charset, LANGUAGES};
use crate::page::write_title;
use crate::rng::{Rng, mix};
use crate::slots::{Kind, Slot, put};

/// Entries of a feed.
const ENTRIES: u32 = 15;
/// Addresses in a sitemap.
const ADDRESSES: u32 = 200;

/// Appends a feed or a sitemap.
pub fn write(world: &World, host: &Host, slot: &Slot, out: &mut Vec<u8>) {
    let mut name = Vec::with_capacity(32);
    world.write_host(host.id, &mut name);
    let mut rng = Rng::new(slot.seed, 0xfeed);
    let count = if slot.kind == Kind::Sitemap { ADDRESSES } else { ENTRIES }.min(host.size);
    let first = rng.below(u64::from(host.size - count) + 1) as u32;
    let words = world.lexicon.vocabulary(host.language, Charset::Utf8);
    let code = LANGUAGES[host.language].code.as_bytes();
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    match slot.kind {
        Kind::Sitemap => {
            put(out, &[b"<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"]);
        }
        Kind::Atom => put(
            out,
            &[
                b"<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"",
                code,
                b"\">\n<title>",
                &name,
                b"</title>\n<id>http://",
                &name,
                b"/</id>\n<updated>2025-12-01T00:00:00Z</updated>\n",
            ],
        ),
        _ => put(
            out,
            &[
                b"<rss version=\"2.0\"><channel>\n<title>",
                &name,
                b"</title>\n<link>http://",
                &name,
                b"/</link>\n<description>news</description><language>",
                code,
                b"</language>\n",
            ],
        ),
    }
    for index in first..first + count {
        let mut url = [b"http://", name.as_slice()].concat();
        let mut path = Vec::with_capacity(64);
        world.write_path(host, index, &mut path);
        crate::href::escape(&path, &mut url);
        let seed = mix(host.seed, u64::from(index));
        let (mut title, mut date) = (Vec::new(), Vec::new());
        write_title(world, words, seed, u64::MAX, &mut title);
        let published = dates::published(seed);
        if slot.kind == Kind::Rss {
            dates::write_http(published, &mut date);
        } else {
            dates::write_iso(published, &mut date);
        }
        match slot.kind {
            Kind::Sitemap => {
                put(out, &[b"<url><loc>", &url, b"</loc><lastmod>", &date, b"</lastmod></url>\n"]);
            }
            Kind::Atom => put(
                out,
                &[
                    b"<entry><title>",
                    &title,
                    b"</title><link href=\"",
                    &url,
                    b"\"/><id>",
                    &url,
                    b"</id><updated>",
                    &date,
                    b"</updated></entry>\n",
                ],
            ),
            _ => put(
                out,
                &[
                    b"<item><title>",
                    &title,
                    b"</title><link>",
                    &url,
                    b"</link><guid>",
                    &url,
                    b"</guid><pubDate>",
                    &date,
                    b"</pubDate></item>\n",
                ],
            ),
        }
    }
    out.extend_from_slice(match slot.kind {
        Kind::Sitemap => b"</urlset>\n".as_slice(),
        Kind::Atom => b"</feed>\n",
        _ => b"</channel></rss>\n",
    });
}
