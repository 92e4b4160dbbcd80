//! One pass over HTML: links, text, title and metadata, with no tree.
//!
//! Of the tree only what decides the tokens is kept: the stack of `svg` and `math` elements and
//! of the points where HTML goes on inside them (for CDATA sections, and for `<style>` or
//! `<title>` that are markup there). Scripting is off, so `noscript` holds markup.

use std::borrow::Cow;

use super::decode;
use super::directives::RobotsFlags;
use super::elements::{Attributes, Element, Slot, breaks_out, element};
use super::links::{LinkKind, LinkSet, MAX_ANCHOR, clean_decoded, clean_href};
use super::text::TextWriter;
use super::tokeniser::{Content, Name, Sink, Text, tokenise};
use super::values;
use super::{Facts, Link, Wanted};

/// The most open foreign elements that are told apart.
const MAX_FOREIGN: usize = 512;

/// A step of the path through foreign content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Foreign {
    Svg,
    Math,
    /// HTML inside; the key and length of the name that opened it.
    Html(u64, usize),
}

/// The sink that reads a page.
struct Scan<'a> {
    agent: &'a str,
    wanted: Wanted,
    facts: Facts,
    text: TextWriter,
    links: LinkSet,
    name: Name<'a>,
    element: Element,
    attributes: Attributes<'a>,
    /// Lists of images in `data-` attributes of the tag begun.
    lazy: Vec<&'a str>,
    foreign: Vec<Foreign>,
    /// The element whose text the tokeniser hands over undivided, or foreign text not shown.
    held: Option<Element>,
    title: Option<String>,
    anchor: Option<Anchor>,
    robots: RobotsFlags,
}

/// The link whose text is being read.
struct Anchor {
    link: usize,
    words: String,
    from: usize,
}

/// Reads of a page what is wanted, for the robot called `agent`.
pub(super) fn scan(html: &str, agent: &str, wanted: Wanted) -> Facts {
    let mut scan = Scan {
        agent,
        wanted,
        facts: Facts::default(),
        text: TextWriter::new(if wanted.text { html.len() / 2 } else { 0 }),
        links: LinkSet::default(),
        name: Name { raw: "", key: 0 },
        element: Element::Other,
        attributes: Attributes::default(),
        lazy: Vec::new(),
        foreign: Vec::new(),
        held: None,
        title: None,
        anchor: None,
        robots: RobotsFlags::default(),
    };
    tokenise(html, &mut scan);
    scan.finish()
}

impl<'a> Sink<'a> for Scan<'a> {
    #[inline]
    fn text(&mut self, raw: &'a str, kind: Text) {
        match self.held {
            None if self.wanted.text || self.anchor.is_some() => self.text.push(raw, kind),
            Some(Element::Textarea | Element::Xmp | Element::Plaintext) => {
                self.text.push(raw, kind);
            }
            Some(Element::Title) => {
                if let Some(title) = &mut self.title {
                    title.push_str(&decode::text(raw, kind));
                }
            }
            Some(Element::Style) => self.style(raw),
            None | Some(_) => {}
        }
    }

    #[inline]
    fn start(&mut self, name: Name<'a>) {
        self.name = name;
        self.element = element(name);
        self.attributes.clear();
        self.lazy.clear();
    }

    #[inline]
    fn attribute(&mut self, name: Name<'a>, value: &'a str) {
        self.attributes.put(name, value);
        if name.raw.len() > 7 && matches!(self.element, Element::Img | Element::Source) {
            self.lazy_image(name, value);
        }
    }

    #[inline]
    fn open(&mut self, self_closing: bool) -> Content {
        if !self.foreign.is_empty() {
            self.enter_html();
        }
        if let Some(style) = self.attributes.get(Slot::Style) {
            self.style(&decode::attribute(style));
        }
        match self.element {
            Element::Other => Content::Data,
            Element::Block | Element::Br => {
                self.text.line();
                Content::Data
            }
            _ => self.open_special(self_closing),
        }
    }

    #[inline]
    fn close(&mut self, name: Name<'a>) {
        match element(name) {
            Element::Other => {}
            Element::Block => self.text.line(),
            element => self.close_special(element, name),
        }
    }

    fn foreign(&self) -> bool {
        matches!(self.foreign.last(), Some(Foreign::Svg | Foreign::Math))
    }
}

impl<'a> Scan<'a> {
    /// A start tag that SVG and `MathML` do not know ends them.
    fn enter_html(&mut self) {
        if self.foreign() && breaks_out(self.name) {
            while self.foreign() {
                self.foreign.pop();
            }
            self.held = None;
        }
    }

    fn open_special(&mut self, self_closing: bool) -> Content {
        let foreign = self.foreign();
        match self.element {
            Element::Svg | Element::Math | Element::Integration => {
                self.open_foreign(self_closing);
                return Content::Data;
            }
            Element::Title if foreign => {
                self.open_foreign(self_closing);
                return Content::Data;
            }
            Element::A => self.open_anchor(),
            Element::Img => self.image(),
            Element::Link => self.link_element(),
            Element::Meta => self.meta(),
            Element::Base => {
                if let (None, Some(href)) = (&self.facts.base, self.attributes.get(Slot::Href)) {
                    self.facts.base = Some(clean_href(href).into_owned());
                }
            }
            Element::Html => self.language(),
            Element::Body => {
                self.text.line();
                self.refer(Slot::Background, LinkKind::Img);
            }
            Element::Cell => {
                self.text.space();
                self.refer(Slot::Background, LinkKind::Img);
            }
            Element::Area => {
                if let Some(n) = self.refer(Slot::Href, LinkKind::Area) {
                    self.label(n, Slot::Alt);
                }
            }
            Element::Frame => {
                self.refer(Slot::Src, LinkKind::Frame);
            }
            Element::Embed => {
                self.refer(Slot::Src, LinkKind::Link);
            }
            Element::Form => self.form(),
            Element::Input => {
                let kind = self.attributes.get_or_empty(Slot::Type);
                if kind.eq_ignore_ascii_case("image") {
                    self.refer(Slot::Src, LinkKind::Img);
                }
            }
            Element::Media => {
                self.refer(Slot::Poster, LinkKind::Img);
                self.refer(Slot::Src, LinkKind::Link);
            }
            Element::Source => {
                self.refer(Slot::Src, LinkKind::Link);
                self.images();
            }
            Element::Object => {
                self.refer(Slot::Data, LinkKind::Link);
            }
            Element::Quote => {
                self.refer(Slot::Cite, LinkKind::Link);
            }
            Element::Pre => {
                self.text.line();
                self.text.begin_pre();
            }
            _ => return self.open_text(foreign, self_closing),
        }
        Content::Data
    }

    /// Elements whose content is not markup, unless they are foreign.
    fn open_text(&mut self, foreign: bool, self_closing: bool) -> Content {
        let content = match self.element {
            Element::Title => {
                if self.title.is_none() {
                    self.title = Some(String::new());
                    self.held = Some(Element::Title);
                } else {
                    self.held = Some(Element::Rawtext);
                }
                return Content::Rcdata;
            }
            Element::Textarea => Content::Rcdata,
            Element::Script => {
                self.refer(if foreign { Slot::XlinkHref } else { Slot::Src }, LinkKind::Script);
                Content::Script
            }
            Element::Iframe => {
                self.refer(Slot::Src, LinkKind::Iframe);
                Content::Rawtext
            }
            Element::Plaintext => Content::Plaintext,
            _ => Content::Rawtext,
        };
        if !foreign {
            if matches!(self.element, Element::Textarea | Element::Xmp | Element::Plaintext) {
                self.text.line();
            }
            self.held = Some(self.element);
            return content;
        }
        if !self_closing && matches!(self.element, Element::Script | Element::Style) {
            self.held = Some(self.element);
        }
        Content::Data
    }

    fn open_foreign(&mut self, self_closing: bool) {
        let step = match self.element {
            Element::Svg => Foreign::Svg,
            Element::Math => Foreign::Math,
            _ if !self.foreign() => return,
            _ => Foreign::Html(self.name.key, self.name.raw.len()),
        };
        if !self_closing && self.foreign.len() < MAX_FOREIGN {
            self.foreign.push(step);
        }
    }

    fn close_special(&mut self, element: Element, name: Name<'a>) {
        match element {
            Element::A => self.close_anchor(),
            Element::Cell => self.text.space(),
            Element::Pre => {
                self.text.end_pre();
                self.text.line();
            }
            Element::Textarea | Element::Xmp => {
                self.held = None;
                self.text.line();
            }
            Element::Br | Element::Body => self.text.line(),
            Element::Svg => self.leave(Foreign::Svg),
            Element::Math => self.leave(Foreign::Math),
            Element::Integration => self.leave(Foreign::Html(name.key, name.raw.len())),
            Element::Title if self.held.is_none() => {
                self.leave(Foreign::Html(name.key, name.raw.len()));
            }
            _ if self.held == Some(element) || element == Element::Title => self.held = None,
            _ => {}
        }
    }

    fn leave(&mut self, step: Foreign) {
        if let Some(n) = self.foreign.iter().rposition(|&open| open == step) {
            self.foreign.truncate(n);
            self.held = None;
        }
    }

    /// Records the reference in a slot of the tag; the link's position if it is new.
    #[inline]
    fn refer(&mut self, slot: Slot, kind: LinkKind) -> Option<usize> {
        self.links.add(&clean_href(self.attributes.get(slot)?), kind)
    }

    fn label(&mut self, link: usize, slot: Slot) {
        if let Some(label) = self.attributes.get(slot) {
            self.links.get_mut(link).anchor =
                decode::collapse(&decode::attribute(label), MAX_ANCHOR);
        }
    }

    fn open_anchor(&mut self) {
        self.close_anchor();
        let slot = match self.attributes.get(Slot::Href) {
            Some(_) => Slot::Href,
            None => Slot::XlinkHref,
        };
        let Some(link) = self.refer(slot, LinkKind::A) else { return };
        if let Some(rel) = self.attributes.get(Slot::Rel) {
            self.links.get_mut(link).rel = decode::line(rel).to_ascii_lowercase();
        }
        if !self.wanted.anchors {
            return;
        }
        self.anchor = Some(Anchor { link, words: String::new(), from: self.text.as_str().len() });
    }

    fn close_anchor(&mut self) {
        if let Some(mut anchor) = self.anchor.take() {
            anchor.read(self.text.as_str());
            self.links.get_mut(anchor.link).anchor = decode::collapse(&anchor.words, MAX_ANCHOR);
        }
    }

    fn image(&mut self) {
        if let Some(n) = self.refer(Slot::Src, LinkKind::Img) {
            self.label(n, Slot::Alt);
        }
        self.refer(Slot::Longdesc, LinkKind::Link);
        self.images();
        if let (Some(anchor), Some(alt)) = (&mut self.anchor, self.attributes.get(Slot::Alt)) {
            let alt = decode::attribute(alt);
            if !alt.is_empty() {
                anchor.read(self.text.as_str());
                anchor.say(&alt);
            }
        }
    }

    fn images(&mut self) {
        let lists = self.attributes.get(Slot::Srcset).into_iter().chain(self.lazy.drain(..));
        for list in lists {
            values::srcset(&decode::attribute(list), |url| {
                self.links.add(&clean_decoded(Cow::Borrowed(url)), LinkKind::Img);
            });
        }
    }

    /// `data-src`, `data-lazy-srcset`, `data-original` and their like hold what a script would
    /// put into `src`.
    fn lazy_image(&mut self, name: Name<'a>, value: &'a str) {
        const MAX_LAZY: usize = 16;
        let lower = name.raw.to_ascii_lowercase();
        let tells = |word| lower.contains(word);
        if self.lazy.len() < MAX_LAZY
            && lower.starts_with("data-")
            && (tells("src") || tells("lazy") || tells("original"))
        {
            self.lazy.push(value);
        }
    }

    fn style(&mut self, style: &str) {
        values::css(style, |url, imported| {
            let kind = if imported { LinkKind::Css } else { LinkKind::Img };
            self.links.add(&clean_decoded(Cow::Borrowed(url)), kind);
        });
    }

    fn form(&mut self) {
        self.text.line();
        if let Some(n) = self.refer(Slot::Action, LinkKind::Form) {
            let method = self.attributes.get_or_empty(Slot::Method);
            let method = if method.eq_ignore_ascii_case("post") { "post" } else { "get" };
            method.clone_into(&mut self.links.get_mut(n).rel);
        }
    }

    fn language(&mut self) {
        if self.facts.lang.is_none() {
            let lang = self.attributes.get(Slot::Lang).or(self.attributes.get(Slot::XmlLang));
            self.facts.lang = lang.map(decode::line).filter(|lang| !lang.is_empty());
        }
    }

    /// `link`: what its types say. Hints for connections and pings lead to no page.
    fn link_element(&mut self) {
        let Some(href) = self.attributes.get(Slot::Href) else { return };
        let rel = decode::line(self.attributes.get_or_empty(Slot::Rel)).to_ascii_lowercase();
        let has = |kind: &str| rel.split(' ').any(|word| word == kind);
        if rel.is_empty() || has("dns-prefetch") || has("preconnect") || has("pingback") {
            return;
        }
        let href = clean_href(href);
        if has("canonical") && self.facts.canonical.is_none() && !href.is_empty() {
            self.facts.canonical = Some(href.clone().into_owned());
        }
        let media = decode::line(self.attributes.get_or_empty(Slot::Type)).to_ascii_lowercase();
        let feed = ["application/rss+xml", "application/atom+xml", "application/feed+json"];
        let kind = if has("stylesheet") {
            LinkKind::Css
        } else if has("sitemap") {
            LinkKind::Sitemap
        } else if has("feed") || (has("alternate") && feed.iter().any(|f| media.starts_with(f))) {
            LinkKind::Feed
        } else {
            LinkKind::Link
        };
        if let Some(n) = self.links.add(&href, kind) {
            self.links.get_mut(n).rel = rel;
            self.label(n, Slot::Title);
        }
    }

    fn meta(&mut self) {
        let Some(content) = self.attributes.get(Slot::Content) else { return };
        if let Some(name) = self.attributes.get(Slot::Name) {
            let name = decode::line(name);
            if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(self.agent) {
                self.robots |= RobotsFlags::parse(&decode::attribute(content));
            } else if name.eq_ignore_ascii_case("description") && self.facts.description.is_empty()
            {
                self.facts.description = decode::line(content);
            }
        }
        if let Some(header) = self.attributes.get(Slot::HttpEquiv) {
            let (header, value) = (decode::line(header), decode::attribute(content));
            if header.eq_ignore_ascii_case("refresh") {
                if let Some(url) = values::refresh(&value) {
                    self.links.add(&clean_decoded(Cow::Borrowed(url)), LinkKind::MetaRefresh);
                }
            } else if (header.eq_ignore_ascii_case("pragma")
                || header.eq_ignore_ascii_case("cache-control"))
                && value.to_ascii_lowercase().contains("no-cache")
            {
                self.robots |= RobotsFlags::NOCACHE;
            }
        }
        if let Some(property) = self.attributes.get(Slot::Property) {
            let property = decode::line(property).to_ascii_lowercase();
            match property.as_str() {
                "og:image" | "og:image:url" | "og:image:secure_url" => {
                    self.links.add(&clean_href(content), LinkKind::Img);
                }
                "og:video" | "og:video:url" | "og:audio" | "og:audio:url" | "og:url" => {
                    self.links.add(&clean_href(content), LinkKind::Link);
                }
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Facts {
        self.close_anchor();
        let links: Vec<Link> = self.links.into_links();
        let title = self.title.map(|title| decode::collapse(&title, decode::MAX_LINE));
        Facts {
            title: title.unwrap_or_default(),
            robots_flags: self.robots,
            text: self.text.into_string(),
            links,
            ..self.facts
        }
    }
}

impl Anchor {
    /// Takes what was written to the text since the last time.
    fn read(&mut self, text: &str) {
        let from = std::mem::replace(&mut self.from, text.len());
        self.say(&text[from..]);
    }

    /// Adds words, apart from those before, as long as there is room: the bytes that the
    /// characters kept can take.
    fn say(&mut self, words: &str) {
        let room = (4 * MAX_ANCHOR).saturating_sub(self.words.len());
        self.words.push(' ');
        self.words.push_str(&words[..words.floor_char_boundary(room)]);
    }
}
