//! Textual XML: RSS, Atom, sitemaps and whatever else carries `<loc>`, `<link>` or text.
//!
//! A sitemap's `loc` must be a whole URL, as its protocol says: what else stands there is none.
//!
//! The tokens are those of HTML with CDATA sections everywhere, which real feeds, often no
//! well-formed XML, survive better than a strict parser. Names are compared without their
//! prefix and case.

use std::borrow::Cow;

use super::Facts;
use super::decode;
use super::elements::{Attributes, Slot};
use super::links::{self, LinkKind, LinkSet, clean_decoded, clean_href};
use super::text::TextWriter;
use super::tokeniser::{Content, Name, Sink, Text, tokenise};

/// The most characters of an element's text that are looked at as a reference or title.
const MAX_FIELD: usize = 1 << 14;

/// Elements whose text is read as a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    None,
    /// `loc` of a sitemap, or what is written in its place; `image:loc` is an image.
    Loc,
    ImageLoc,
    Link,
    Guid,
    Title,
    Description,
    Language,
}

struct Scan<'a> {
    facts: Facts,
    text: TextWriter,
    links: LinkSet,
    local: &'a str,
    attributes: Attributes<'a>,
    /// The document is a sitemap or an index of them.
    is_sitemap: bool,
    /// Inside `<sitemap>` of a sitemap index.
    in_sitemap: bool,
    /// Inside an item or entry, whose titles are not the document's.
    in_item: bool,
    field: Field,
    value: String,
}

/// Reads an XML document.
pub(super) fn scan(xml: &str) -> Facts {
    let mut scan = Scan {
        facts: Facts::default(),
        text: TextWriter::new(xml.len() / 2),
        links: LinkSet::default(),
        local: "",
        attributes: Attributes::default(),
        is_sitemap: false,
        in_sitemap: false,
        in_item: false,
        field: Field::None,
        value: String::new(),
    };
    tokenise(xml, &mut scan);
    Facts { text: scan.text.into_string(), links: scan.links.into_links(), ..scan.facts }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

impl<'a> Sink<'a> for Scan<'a> {
    fn text(&mut self, raw: &'a str, kind: Text) {
        let text = decode::text(raw, kind);
        if self.field != Field::None && self.value.len() + text.len() <= MAX_FIELD {
            self.value.push_str(&text);
        }
        if !matches!(self.field, Field::Loc | Field::ImageLoc | Field::Link | Field::Guid) {
            self.text.push_decoded(&text);
        }
    }

    fn start(&mut self, name: Name<'a>) {
        self.local = local(name.raw);
        self.attributes.clear();
        self.value.clear();
        let prefixed = self.local.len() < name.raw.len();
        self.field = match self.local.to_ascii_lowercase().as_str() {
            "loc" if prefixed && name.raw.to_ascii_lowercase().starts_with("image") => {
                Field::ImageLoc
            }
            "loc" => Field::Loc,
            "url" | "sitemap" if self.is_sitemap && !prefixed => Field::Loc,
            "link" => Field::Link,
            "guid" => Field::Guid,
            "title" => Field::Title,
            "description" | "subtitle" => Field::Description,
            "language" => Field::Language,
            _ => Field::None,
        };
    }

    fn attribute(&mut self, name: Name<'a>, value: &'a str) {
        self.attributes.put(name, value);
        if name.is("url") && self.local.eq_ignore_ascii_case("enclosure") {
            self.links.add(&clean_href(value), LinkKind::Link);
        } else if name.is("isPermaLink") && value.eq_ignore_ascii_case("false") {
            self.field = Field::None;
        }
    }

    fn open(&mut self, self_closing: bool) -> Content {
        self.text.line();
        let lower = self.local.to_ascii_lowercase();
        match lower.as_str() {
            "urlset" | "sitemapindex" => self.is_sitemap = true,
            "sitemap" => self.in_sitemap = true,
            "item" | "entry" => self.in_item = true,
            "feed" | "rss" | "html" => {
                let lang = self.attributes.get(Slot::XmlLang).map(decode::line);
                self.facts.lang = self.facts.lang.take().or(lang);
            }
            "link" => self.link(),
            _ => {}
        }
        if self_closing {
            self.field = Field::None;
        }
        Content::Data
    }

    fn close(&mut self, name: Name<'a>) {
        self.text.line();
        match std::mem::replace(&mut self.field, Field::None) {
            Field::Loc if links::is_absolute(self.value.trim()) => {
                self.refer(if self.in_sitemap { LinkKind::Sitemap } else { LinkKind::A });
            }
            Field::Link => self.refer(LinkKind::A),
            Field::Guid if links::is_absolute(self.value.trim()) => self.refer(LinkKind::A),
            Field::ImageLoc => self.refer(LinkKind::Img),
            Field::Title if !self.in_item && self.facts.title.is_empty() => {
                self.facts.title = decode::collapse(&self.value, decode::MAX_LINE);
            }
            Field::Description if !self.in_item && self.facts.description.is_empty() => {
                self.facts.description = decode::collapse(&self.value, decode::MAX_LINE);
            }
            Field::Language if self.facts.lang.is_none() => {
                self.facts.lang = Some(decode::collapse(&self.value, decode::MAX_LINE));
            }
            _ => {}
        }
        match local(name.raw).to_ascii_lowercase().as_str() {
            "sitemap" => self.in_sitemap = false,
            "item" | "entry" => self.in_item = false,
            _ => {}
        }
    }

    fn foreign(&self) -> bool {
        true
    }
}

impl Scan<'_> {
    fn refer(&mut self, kind: LinkKind) {
        self.links.add(&clean_decoded(Cow::Borrowed(self.value.trim())), kind);
    }

    /// `<link href rel>` of Atom and of XHTML in sitemaps: the feed itself and its other pages
    /// are feeds, what an entry links to is a page.
    fn link(&mut self) {
        let Some(href) = self.attributes.get(Slot::Href) else { return };
        let rel = decode::line(self.attributes.get_or_empty(Slot::Rel)).to_ascii_lowercase();
        let kind = match rel.as_str() {
            "" | "alternate" | "related" | "via" => LinkKind::A,
            "self" | "first" | "last" | "next" | "previous" | "prev-archive" | "next-archive"
            | "current" => LinkKind::Feed,
            _ => LinkKind::Link,
        };
        if let Some(n) = self.links.add(&clean_href(href), kind) {
            self.links.get_mut(n).rel = rel;
        }
        self.field = Field::None;
    }
}
