//! HTML: a page put together from its seed, straight in the bytes of its encoding.
//!
//! A page has what real pages have: navigation that repeats, headings, dates, paragraphs,
//! lists, tables, cards that link to one place three times, a blogroll, and tag-like text in
//! scripts, styles, comments and text areas, which is no link (it leads to `/decoy/…`, where
//! nothing is). Links to the children of a page in the host's tree make the host whole; the
//! others prefer low page numbers (⌊n·u⁴⌋, so in-degrees follow a power law of exponent 7/3),
//! and their number follows a power law too.

use std::ops::Range;

use crate::World;
use crate::dates;
use crate::hosts::{Host, write_number};
use crate::href::Hrefs;
use crate::language::{Charset, LANGUAGES, Vocabulary};
use crate::rng::{Rng, mix};
use crate::slots::{Kind, Slot, put};
use crate::traps;

const TITLE: u64 = 0x7171e;

const STYLE: &[u8] = b"<style type=\"text/css\">
body{margin:0;font:16px/1.5 Georgia,serif;color:#222;background:#fff}
.head{padding:1em 2em;border-bottom:1px solid #ccc}.head ul{list-style:none;margin:0;padding:0}
.head li{display:inline-block;margin-right:1em}a[href^=\"http\"]:after{content:\"\"}
.card{float:left;width:30%;margin:0 1% 1em;min-height:12em;border:1px solid #eee}
.card img{width:100%;height:auto}.foot{clear:both;padding:2em;font-size:80%;color:#777}
/* <a href=\"/decoy/style.html\">not a link</a> */
table{border-collapse:collapse}td,th{border:1px solid #ddd;padding:.2em .6em}
@media(max-width:40em){.card{float:none;width:auto}.head li{display:block}}
</style>
";

const SCRIPT: &[u8] = b"<script>
var menu = '<li><a href=\"/decoy/menu.html\">not a link<\\/a></li>';
(function(w,d){var q=w.stats=w.stats||[];q.push(['page',d.location.pathname]);
function on(e,t,f){if(e.addEventListener){e.addEventListener(t,f,false)}}
on(w,'load',function(){var i,l=d.getElementsByTagName('a');
for(i=0;i<l.length;i++){if(l[i].rel==='external'){l[i].target='_blank'}}
if(d.cookie.indexOf('seen=')<0){d.cookie='seen=1; path=/'}});
if(1<2&&3>2){document.write(\"<a href='/decoy/written.html'>not a link<\" + \"/a>\")}
})(window,document);
</script>
";

/// How a page says what its encoding is.
#[derive(Clone, Copy)]
pub struct Declared {
    /// In the Content-Type header.
    pub header: bool,
    /// In a `meta` element.
    pub meta: bool,
    /// By a byte order mark.
    pub mark: bool,
}

impl Slot {
    /// How the page says what its encoding is: always in one way at least.
    pub fn declared(&self) -> Declared {
        let draw = mix(self.seed, 0xdec1);
        if self.charset.wide() {
            return Declared { header: draw & 1 == 0, meta: false, mark: true };
        }
        let mark = self.charset == Charset::Utf8 && draw % 16 == 1;
        match draw % 3 {
            0 => Declared { header: true, meta: true, mark },
            1 => Declared { header: true, meta: false, mark },
            _ => Declared { header: false, meta: true, mark },
        }
    }
}

/// A variation of a page's text.
#[derive(Clone, Copy, Default)]
pub struct Variation {
    /// Words that differ from the page as it is, spread over it.
    pub changed_words: u32,
    /// A new last paragraph for each version; 0 is the page as it is.
    pub version: u64,
}

/// Writes the pages of a host.
struct Writer<'a> {
    world: &'a World,
    host: &'a Host,
    slot: &'a Slot,
    words: &'a Vocabulary,
    hrefs: Hrefs<'a>,
    rng: Rng,
    out: &'a mut Vec<u8>,
    /// Words written, the next one to change, and how far apart those are.
    written: u64,
    change_at: u64,
    change_step: u64,
    changes_left: u32,
}

/// Appends the HTML of a page as it stands at the path of page `at` (itself, or a copy of it).
pub fn write(
    world: &World,
    host: &Host,
    slot: &Slot,
    at: u32,
    variation: Variation,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let mut rng = Rng::new(slot.seed, 0x4a9e);
    let hrefs = Hrefs::new(world, host, slot, at);
    let words = world.lexicon.vocabulary(host.language, slot.charset.working());
    let length = (250.0 + 400.0 / (rng.unit() + 1e-4).powf(0.55)).min(8000.0) as u64;
    let changes = variation.changed_words;
    let mut writer = Writer {
        world,
        host,
        slot,
        words,
        hrefs,
        rng,
        out,
        written: 0,
        change_at: u64::MAX,
        change_step: length / u64::from(changes.max(1)),
        changes_left: changes,
    };
    if slot.kind == Kind::Frames {
        writer.frames();
    } else {
        writer.page(length, variation);
    }
    if slot.charset.wide() {
        widen(out, start, slot.charset);
    }
}

/// Turns UTF-8 from `start` on into UTF-16.
fn widen(out: &mut Vec<u8>, start: usize, charset: Charset) {
    let text = String::from_utf8_lossy(&out[start..]).into_owned();
    out.truncate(start);
    for unit in std::iter::once(0xfeff).chain(text.encode_utf16()) {
        out.extend_from_slice(&match charset {
            Charset::Utf16Be => unit.to_be_bytes(),
            _ => unit.to_le_bytes(),
        });
    }
}

impl Writer<'_> {
    fn put(&mut self, pieces: &[&[u8]]) {
        put(self.out, pieces);
    }

    fn page(&mut self, length: u64, variation: Variation) {
        self.head();
        self.navigation();
        self.put(&[b"<div class=\"main\" id=\"main\">\n<h1>"]);
        self.title(self.slot.seed, u64::MAX);
        self.put(&[b"</h1>\n"]);
        self.date();
        self.article(length);
        if variation.version != 0 {
            self.latest(variation.version);
        }
        self.children();
        if self.slot.kind == Kind::Archive {
            self.archive();
        }
        self.put(&[b"</div>\n"]);
        self.cards();
        self.footer();
    }

    fn head(&mut self) {
        let declared = self.slot.declared();
        if declared.mark && !self.slot.charset.wide() {
            self.put(&[b"\xef\xbb\xbf"]);
        }
        let code = LANGUAGES[self.host.language].code.as_bytes();
        self.put(&[b"<!DOCTYPE html>\n<html lang=\"", code, b"\">\n<head>\n"]);
        if declared.meta {
            let label = self.slot.charset.label().as_bytes();
            if self.rng.one_in(2) {
                self.put(&[b"<meta charset=\"", label, b"\">\n"]);
            } else {
                self.put(&[
                    b"<meta http-equiv=\"Content-Type\" content=\"text/html; charset=",
                    label,
                    b"\">\n",
                ]);
            }
        }
        self.put(&[b"<title>"]);
        self.title(self.slot.seed, u64::MAX);
        self.put(&[b"</title>\n"]);
        self.hrefs.write_base(self.out);
        self.put(&[b"<meta name=\"description\" content=\""]);
        self.text(12);
        self.put(&[b"\">\n<meta name=viewport content='width=device-width'>\n"]);
        self.put(&[b"<link rel=\"stylesheet\" href=\"/style/main.css\">\n"]);
        if let Some(feed) = self.host.feed() {
            let mut path = Vec::new();
            self.world.write_path(self.host, feed, &mut path);
            self.put(&[
                b"<link rel=\"alternate\" type=\"application/rss+xml\" title=\"News\" href=\"",
                &path,
                b"\">\n",
            ]);
        }
        match self.rng.below(60) {
            0..12 => {
                self.put(&[b"<link rel=canonical href=\"http://"]);
                let (name, path) = self.hrefs.own();
                put(self.out, &[name]);
                crate::href::escape(path, self.out);
                self.put(&[b"\">\n"]);
            }
            12 if self.slot.index >= self.host.interior() => {
                let target = self.somewhere();
                self.put(&[b"<meta http-equiv=\"refresh\" content=\"600; url="]);
                self.hrefs.plain(self.host, target, self.out);
                self.put(&[b"\">\n"]);
            }
            _ => {}
        }
        let date = dates::published(self.slot.seed);
        self.put(&[b"<meta property=\"article:published_time\" content=\""]);
        dates::write_iso(date, self.out);
        self.put(&[b"\">\n", STYLE, SCRIPT]);
        self.put(&[b"<!-- <a href=\"/decoy/comment.html\">not a link</a> -->\n</head>\n"]);
    }

    fn navigation(&mut self) {
        self.put(&[b"<body>\n<div class=\"head\"><a class=\"logo\" href=\"/\"><img src=\"/img/logo.png\" alt=\"\"> "]);
        put(self.out, &[self.hrefs.own().0]);
        self.put(&[b"</a>\n<ul id=nav>\n"]);
        for index in 1..self.host.interior().min(12) {
            self.put(&[b"<li class=\"item\">"]);
            self.link(index, 2);
            self.put(&[b"</li>\n"]);
        }
        self.put(&[b"<li><a href=\""]);
        self.hrefs.top(self.out);
        self.put(&[b"#main\">&darr;</a></li>\n</ul></div>\n"]);
    }

    fn date(&mut self) {
        let date = dates::published(self.slot.seed);
        self.put(&[b"<p class=\"date\"><time datetime=\""]);
        dates::write_iso(date, self.out);
        self.put(&[b"\">"]);
        dates::write_day(date, self.out);
        self.put(&[b"</time> &middot; <a href='mailto:office@"]);
        put(self.out, &[self.hrefs.own().0]);
        self.put(&[b"' rel=nofollow>@</a></p>\n"]);
    }

    /// Exactly `length` words.
    fn article(&mut self, length: u64) {
        (self.written, self.change_at) = (0, self.change_step / 2);
        let mut left = length;
        while left > 0 {
            let words = left.min(30 + self.rng.below(90));
            left -= words;
            match self.rng.below(16) {
                0 => self.list(words),
                1 => self.table(words),
                2 => {
                    self.put(&[b"<blockquote cite=\"#main\">"]);
                    self.text(words);
                    self.put(&[b"</blockquote>\n"]);
                }
                3 => {
                    self.put(&[b"<h2 id=\"s", &left.to_string().into_bytes(), b"\">"]);
                    self.text(words.min(6));
                    self.put(&[b"</h2>\n<p>"]);
                    self.text(words - words.min(6));
                    self.put(&[b"</p>\n"]);
                }
                4 => {
                    self.put(&[b"<p><img src=\"/img/"]);
                    let number = self.rng.below(1000);
                    write_number(self.out, number);
                    self.put(&[b".jpg\" width=400 height=300 alt='' loading=lazy>"]);
                    self.text(words);
                    self.put(&[b"</p>\n"]);
                }
                kind => {
                    self.put(&[b"<p>"]);
                    self.text(words / 2);
                    if kind < 12 {
                        let target = self.somewhere();
                        self.link(target, 3);
                        self.put(&[b" "]);
                    }
                    self.text(words - words / 2);
                    self.put(&[b"</p>\n"]);
                }
            }
        }
        self.changes_left = 0;
    }

    fn list(&mut self, words: u64) {
        self.put(&[b"<ul>\n"]);
        for part in parts(words, 9) {
            self.put(&[b"<li>"]);
            self.text(part);
        }
        self.put(&[b"</ul>\n"]);
    }

    fn table(&mut self, words: u64) {
        self.put(&[b"<table>\n"]);
        for part in parts(words, 8) {
            let number = self.rng.below(10_000);
            self.put(&[b"<tr><td>"]);
            self.text(part);
            self.put(&[b"</td><td>"]);
            write_number(self.out, number);
            self.put(&[b"</td></tr>\n"]);
        }
        self.put(&[b"</table>\n"]);
    }

    /// What changes when a page changes: a paragraph of its own.
    fn latest(&mut self, version: u64) {
        let rng = std::mem::replace(&mut self.rng, Rng::new(version, 0x1a7e));
        self.put(&[b"<h2>Update</h2>\n<p class=\"latest\">"]);
        self.text(40);
        self.put(&[b"</p>\n"]);
        self.rng = rng;
    }

    /// The links that hold the host together.
    fn children(&mut self) {
        let children = self.host.children(self.slot.index);
        if !children.is_empty() {
            self.put(&[b"<ul class=\"contents\">\n"]);
            for child in children {
                self.put(&[b"<li><a class=\"c\" "]);
                self.hrefs.sure(child, &mut self.rng, self.out);
                self.put(&[b">"]);
                self.title(mix(self.host.seed, u64::from(child)), 4);
                self.put(&[b"</a></li>\n"]);
            }
            self.put(&[b"</ul>\n"]);
        }
        if self.slot.kind == Kind::Front {
            self.front();
        }
    }

    /// The links that hold the web together, and the way into the traps.
    fn front(&mut self) {
        self.put(&[b"<ul class=\"hosts\">\n"]);
        for child in self.world.hosts.children(self.host.id) {
            let mut name = Vec::with_capacity(32);
            self.world.write_host(child, &mut name);
            self.put(&[b"<li><a href=\"http://", &name, b"/\">", &name, b"</a></li>\n"]);
        }
        for path in traps::entrances(self.world, self.host) {
            self.put(&[b"<li><a href=\"", &path, b"\">", &path, b"</a></li>\n"]);
        }
        self.put(&[b"</ul>\n"]);
    }

    fn archive(&mut self) {
        let first = self.rng.below(u64::from(self.host.size)) as u32;
        let last = self.host.size.min(first.saturating_add(60));
        self.put(&[b"<dl>\n"]);
        for index in first..last {
            self.put(&[b"<dt>"]);
            self.link(index, 5);
            self.put(&[b"<dd>"]);
            self.text(4);
        }
        self.put(&[b"</dl>\n"]);
    }

    /// Cards that link three times to one page, as many as a power law says.
    fn cards(&mut self) {
        let count = (7.0 / (self.rng.unit() + 1e-6).powf(0.6)).min(150.0) as u64;
        self.put(&[b"<div class=\"related\">\n"]);
        for _ in 0..count {
            let target = self.somewhere();
            self.put(&[b"<div class=card>"]);
            if self.rng.one_in(2) {
                self.put(&[b"<a "]);
                self.hrefs.extra(self.host, target, &mut self.rng, self.out);
                self.put(&[b"><img src=\"/img/"]);
                write_number(self.out, u64::from(target) % 1000);
                self.put(&[b".jpg\" alt=\"\"></a>"]);
            }
            self.put(&[b"<h3>"]);
            self.link(target, 4);
            self.put(&[b"</h3>"]);
            if self.rng.one_in(2) {
                self.put(&[b"<a "]);
                self.hrefs.extra(self.host, target, &mut self.rng, self.out);
                self.put(&[b" class='more'>&raquo;</a>"]);
            }
            self.put(&[b"</div>\n"]);
        }
        self.put(&[b"</div>\n"]);
    }

    fn footer(&mut self) {
        self.put(&[b"<div class=\"foot\">"]);
        let many = 2 + self.rng.below(5);
        for _ in 0..many {
            let draw = self.rng.below(self.world.hosts.pages());
            let other = self.world.hosts.get(self.world.hosts.holding(draw));
            let target = power(&mut self.rng, other.size);
            self.put(&[b"<a "]);
            self.hrefs.extra(&other, target, &mut self.rng, self.out);
            self.put(&[b">"]);
            self.world.write_host(other.id, self.out);
            self.put(&[b"</a> | "]);
        }
        match self.rng.below(24) {
            0 => {
                let target = self.somewhere();
                self.put(&[b"<iframe src=\""]);
                self.hrefs.plain(self.host, target, self.out);
                self.put(&[b"\"></iframe>"]);
            }
            1 => {
                let target = self.somewhere();
                self.put(&[b"<map name=m><area shape=rect coords='0,0,9,9' href=\""]);
                self.hrefs.plain(self.host, target, self.out);
                self.put(&[b"\"></map><img src=/img/map.png usemap=#m>"]);
            }
            2 => self.put(&[
                b"<form action=\"/search\"><textarea><a href=\"/decoy/area.html\">not a link</a>",
                b"</textarea><input name=q></form>",
            ]),
            3 => self.put(&[b"<a href=\"javascript:void(0)\">+</a><a name=end></a>"]),
            _ => {}
        }
        self.put(&[b"<p><a href=\"/\">&uarr;</a> "]);
        for index in 1..self.host.interior().min(6) {
            self.link(index, 2);
            self.put(&[b" "]);
        }
        self.put(&[b"</p>\n<p>&copy; "]);
        put(self.out, &[self.hrefs.own().0]);
        self.put(&[b"</p></div>\n<script src=\"/js/app.js\"></script>\n</body>\n</html>\n"]);
    }

    fn frames(&mut self) {
        let (one, two) = (self.somewhere(), self.somewhere());
        self.put(&[b"<html><head><title>"]);
        self.title(self.slot.seed, u64::MAX);
        self.put(&[b"</title></head>\n<frameset cols=\"20%,*\">\n<frame name=menu src=\""]);
        self.hrefs.plain(self.host, one, self.out);
        self.put(&[b"\">\n<frame name=main src=\""]);
        self.hrefs.plain(self.host, two, self.out);
        self.put(&[b"\">\n</frameset></html>\n"]);
    }

    /// A page of the host, the low numbers by far the most often.
    fn somewhere(&mut self) -> u32 {
        power(&mut self.rng, self.host.size)
    }

    /// A link to a page of the host, with the first words of its title.
    fn link(&mut self, index: u32, words: u64) {
        self.put(&[b"<a "]);
        self.hrefs.extra(self.host, index, &mut self.rng, self.out);
        self.put(&[b">"]);
        self.title(mix(self.host.seed, u64::from(index)), words);
        self.put(&[b"</a>"]);
    }

    /// The first words of the title of the page with a seed.
    fn title(&mut self, seed: u64, most: u64) {
        write_title(self.world, self.words, seed, most, self.out);
    }

    /// Some words in sentences.
    fn text(&mut self, words: u64) {
        let mut left = words;
        while left > 0 {
            let shape = self.rng.next();
            let sentence = left.min(6 + (shape & 15));
            left -= sentence;
            let (comma, compound, entity) =
                ((shape >> 8) & 15, (shape >> 16) & 63, (shape >> 24) & 127);
            let mut bits = 0;
            for nth in 0..sentence {
                if nth % 4 == 0 {
                    bits = self.rng.next();
                }
                let mut rank = self.world.lexicon.rank(bits as u16);
                bits >>= 16;
                if self.written == self.change_at && self.changes_left > 0 {
                    self.changes_left -= 1;
                    rank += 1 + (shape >> 40) % 1000;
                    self.change_at += self.change_step;
                }
                self.written += 1;
                let at = self.out.len();
                self.out.extend_from_slice(self.words.word(rank));
                if nth == compound {
                    self.out.extend_from_slice(self.words.word(shape >> 32));
                }
                if nth == 0 {
                    self.out[at] = self.out[at].to_ascii_uppercase();
                }
                if nth + 1 < sentence {
                    if nth == comma {
                        self.out.push(b',');
                    }
                    if nth == entity {
                        self.put(&[b" &amp; "]);
                    } else if self.words.spaced {
                        self.out.push(b' ');
                    }
                }
            }
            self.out.extend_from_slice(&self.words.stop);
            if self.words.spaced {
                self.out.push(b' ');
            }
        }
    }
}

/// Appends the first words of the title of the page with a seed.
pub fn write_title(world: &World, words: &Vocabulary, seed: u64, most: u64, out: &mut Vec<u8>) {
    let mut rng = Rng::new(seed, TITLE);
    let count = (3 + rng.below(5)).min(most);
    for nth in 0..count {
        if nth > 0 && words.spaced {
            out.push(b' ');
        }
        let at = out.len();
        out.extend_from_slice(words.word(40 + world.lexicon.rank(rng.next() as u16)));
        if nth == 0 {
            out[at] = out[at].to_ascii_uppercase();
        }
    }
}

/// A number below `size`, low ones far more often: ⌊size · u⁴⌋.
fn power(rng: &mut Rng, size: u32) -> u32 {
    let square = rng.unit().powi(2);
    (f64::from(size) * square * square) as u32
}

/// `words` cut into parts of at most `most`.
fn parts(words: u64, most: u64) -> impl Iterator<Item = u64> {
    let cut = move |from: u64| most.min(words - from);
    Range { start: 0, end: words }.step_by(most as usize).map(cut)
}
