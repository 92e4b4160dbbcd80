//! The elements and attributes that mean something to a crawler.

use super::tokeniser::{Name, key};

/// What an element is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    A,
    Area,
    Base,
    Block,
    Body,
    Br,
    Cell,
    Embed,
    Form,
    Frame,
    Html,
    Iframe,
    Img,
    Input,
    Link,
    Media,
    Meta,
    Object,
    Plaintext,
    Pre,
    Quote,
    Rawtext,
    Script,
    Source,
    Style,
    Svg,
    Math,
    Textarea,
    Title,
    Xmp,
    /// An element of SVG or `MathML` in which HTML goes on.
    Integration,
    Other,
}

/// Names → elements, by packed name: one comparison of words each.
macro_rules! elements {
    ($($($name:literal)|+ => $element:ident,)+) => {
        /// The element of a name.
        pub fn element(name: Name<'_>) -> Element {
            $($(const _: u64 = key($name);)+)+
            match name.key {
                0 => long(name),
                $($(k if k == const { key($name) } => Element::$element,)+)+
                _ => Element::Other,
            }
        }
    };
}

elements! {
    "a" => A,
    "p" | "div" | "li" | "ul" | "ol" | "dl" | "dt" | "dd" | "tr" | "h1" | "h2" | "h3" | "h4"
        | "h5" | "h6" | "table" | "section" | "article" | "aside" | "header" | "footer" | "nav"
        | "main" | "hr" | "figure" | "address" | "caption" | "center" | "details" | "dialog"
        | "dir" | "fieldset" | "hgroup" | "legend" | "menu" | "option" | "optgroup" | "search"
        | "select" | "summary" | "tbody" | "tfoot" | "thead" => Block,
    "td" | "th" => Cell,
    "br" => Br,
    "img" | "image" => Img,
    "pre" | "listing" => Pre,
    "link" => Link,
    "meta" => Meta,
    "script" => Script,
    "style" => Style,
    "title" => Title,
    "area" => Area,
    "base" => Base,
    "body" => Body,
    "html" => Html,
    "embed" => Embed,
    "form" => Form,
    "frame" => Frame,
    "iframe" => Iframe,
    "input" => Input,
    "video" | "audio" | "track" => Media,
    "source" => Source,
    "object" => Object,
    "q" | "ins" | "del" => Quote,
    "noembed" | "noframes" => Rawtext,
    "svg" => Svg,
    "math" => Math,
    "textarea" => Textarea,
    "xmp" => Xmp,
    "desc" | "mi" | "mo" | "mn" | "ms" | "mtext" => Integration,
}

fn long(name: Name<'_>) -> Element {
    match name.raw.len() {
        9 if name.is("plaintext") => Element::Plaintext,
        10 if name.is("blockquote") || name.is("figcaption") => Element::Block,
        13 if name.is("foreignobject") => Element::Integration,
        _ => Element::Other,
    }
}

/// Whether a start tag of this name ends foreign content (§13.2.6.5).
pub fn breaks_out(name: Name<'_>) -> bool {
    const NAMES: [&str; 44] = [
        "b",
        "big",
        "blockquote",
        "body",
        "br",
        "center",
        "code",
        "dd",
        "div",
        "dl",
        "dt",
        "em",
        "embed",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "hr",
        "i",
        "img",
        "li",
        "listing",
        "menu",
        "meta",
        "nobr",
        "ol",
        "p",
        "pre",
        "ruby",
        "s",
        "small",
        "span",
        "strong",
        "strike",
        "sub",
        "sup",
        "table",
        "tt",
        "u",
        "ul",
        "var",
    ];
    NAMES.iter().any(|lower| name.is(lower))
}

/// An attribute that is read from some element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    Action,
    Alt,
    Background,
    Cite,
    Content,
    Data,
    Href,
    HttpEquiv,
    Lang,
    Longdesc,
    Method,
    Name,
    Poster,
    Property,
    Rel,
    Src,
    Srcset,
    Style,
    Title,
    Type,
    XlinkHref,
    XmlLang,
}

/// The number of slots.
const SLOTS: usize = Slot::XmlLang as usize + 1;

fn slot(name: Name<'_>) -> Option<Slot> {
    const HREF: u64 = key("href");
    const SRC: u64 = key("src");
    const ALT: u64 = key("alt");
    const REL: u64 = key("rel");
    const NAME: u64 = key("name");
    const TYPE: u64 = key("type");
    const STYLE: u64 = key("style");
    const TITLE: u64 = key("title");
    const CONTENT: u64 = key("content");
    const SRCSET: u64 = key("srcset");
    const LANG: u64 = key("lang");
    const XML_LANG: u64 = key("xml:lang");
    const ACTION: u64 = key("action");
    const METHOD: u64 = key("method");
    const DATA: u64 = key("data");
    const POSTER: u64 = key("poster");
    const PROPERTY: u64 = key("property");
    const CITE: u64 = key("cite");
    const LONGDESC: u64 = key("longdesc");
    Some(match name.key {
        HREF => Slot::Href,
        SRC => Slot::Src,
        ALT => Slot::Alt,
        REL => Slot::Rel,
        NAME => Slot::Name,
        TYPE => Slot::Type,
        STYLE => Slot::Style,
        TITLE => Slot::Title,
        CONTENT => Slot::Content,
        SRCSET => Slot::Srcset,
        LANG => Slot::Lang,
        XML_LANG => Slot::XmlLang,
        ACTION => Slot::Action,
        METHOD => Slot::Method,
        DATA => Slot::Data,
        POSTER => Slot::Poster,
        PROPERTY => Slot::Property,
        CITE => Slot::Cite,
        LONGDESC => Slot::Longdesc,
        0 if name.raw.len() == 10 => match name {
            name if name.is("http-equiv") => Slot::HttpEquiv,
            name if name.is("background") => Slot::Background,
            name if name.is("xlink:href") => Slot::XlinkHref,
            _ => return None,
        },
        _ => return None,
    })
}

/// The attributes of one tag, the first of each name; emptied by forgetting which are set.
#[derive(Default)]
pub struct Attributes<'a> {
    values: [&'a str; SLOTS],
    set: u32,
}

impl<'a> Attributes<'a> {
    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        self.set = 0;
    }

    /// Keeps a value if its name is one of ours and has not come before.
    #[inline]
    pub fn put(&mut self, name: Name<'a>, value: &'a str) {
        if let Some(slot) = slot(name) {
            let bit = 1 << slot as u32;
            if self.set & bit == 0 {
                self.set |= bit;
                self.values[slot as usize] = value;
            }
        }
    }

    /// The raw value of an attribute of the tag.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<&'a str> {
        (self.set >> slot as u32 & 1 == 1).then(|| self.values[slot as usize])
    }

    /// The raw value, or nothing in it.
    pub fn get_or_empty(&self, slot: Slot) -> &'a str {
        self.get(slot).unwrap_or_default()
    }
}
