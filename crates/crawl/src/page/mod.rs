//! Pages: from a body to its links, text and metadata, in one pass and without a tree.
//!
//! [`parse`] finds out what the body is ([`mime`]) and in which encoding ([`charset`]), then
//! hands the text to the reader of HTML ([`html`], over [`tokeniser`]) or of XML ([`xml`]).
//! Links come out raw: joining and normalising is the work of `url`.
//!
//! Everything is bounded (links [`links::MAX_LINKS`], text [`text::LIMIT`], hrefs
//! [`links::MAX_HREF`]) and linear in the body, whatever its bytes.

mod charset;
mod decode;
mod digest;
mod directives;
mod elements;
mod entities;
mod html;
pub mod links;
mod markdown;
mod mime;
mod raw;
mod simhash;
pub mod text;
pub mod tokeniser;
pub mod tokens;
mod values;
mod xml;

pub use charset::prescan;
pub use digest::text_digest;
pub use directives::RobotsFlags;
pub use links::{Link, LinkKind};
pub use markdown::markdown;
pub use simhash::simhash;

use mime::Form;

use crate::url::Url;

/// A response's body, its content-coding removed, and its Content-Type.
#[derive(Clone, Copy, Debug)]
pub struct PageInput<'a> {
    /// The header's value.
    pub content_type: Option<&'a str>,
    /// The bytes.
    pub body: &'a [u8],
}

/// What a page is read for, beside its links and metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The visible text with its digest and simhash; else they are empty.
    pub text: bool,
    /// The anchors of links; else they are empty, but for those that attributes state.
    pub anchors: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Self = Self { text: true, anchors: true };
}

/// What a body says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The media type, stated or sniffed, in lower case and without parameters.
    pub mime: String,
    /// The encoding's name in the WHATWG standard; empty for a binary body.
    pub charset: &'static str,
    /// Text of the first `title`, or a feed's.
    pub title: String,
    /// `meta name=description`, or a feed's.
    pub description: String,
    /// The raw href of `link rel=canonical`.
    pub canonical: Option<String>,
    /// The raw href of the first `base` that has one: links are relative to it.
    pub base: Option<String>,
    /// The language that the root element states.
    pub lang: Option<String>,
    /// `meta name=robots` and `meta name=<agent>`.
    pub robots_flags: RobotsFlags,
    /// The visible text: blocks on lines of their own, white space collapsed.
    pub text: String,
    /// Each (href, kind) once, in the order of the first occurrences.
    pub links: Vec<Link>,
    /// [`text_digest`] of the text.
    pub text_digest: [u8; 16],
    /// [`simhash`] of the text.
    pub simhash: u64,
}

/// What the readers find in decoded text; the fields are those of [`Page`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Facts {
    pub title: String,
    pub description: String,
    pub canonical: Option<String>,
    pub base: Option<String>,
    pub lang: Option<String>,
    pub robots_flags: RobotsFlags,
    pub text: String,
    pub links: Vec<Link>,
}

/// Reads HTML that is decoded already: links, text and metadata, without digests.
pub fn extract(html: &str, agent_token: &str) -> Facts {
    html::scan(html, agent_token, Wanted::ALL)
}

/// Reads a page; `agent_token` is the product token for which `meta` elements may hold
/// directives.
pub fn parse(input: &PageInput<'_>, agent_token: &str) -> Page {
    read(input, agent_token, Wanted::ALL)
}

/// Reads of a page what is wanted.
pub fn read(input: &PageInput<'_>, agent_token: &str, wanted: Wanted) -> Page {
    let (mime, form) = mime::classify(input.content_type, input.body);
    let (facts, charset) = if form != Form::Binary {
        let declared = input.content_type.and_then(mime::charset_of);
        facts_of(input.body, form, declared, agent_token, wanted)
    } else if let Some((body, form)) = mime::unpacked(input.body, text::LIMIT) {
        facts_of(&body, form, None, agent_token, wanted)
    } else {
        (Facts::default(), "")
    };
    let text = if wanted.text { facts.text } else { String::new() };
    let (text_digest, simhash) =
        if wanted.text { (text_digest(&text), simhash(&text)) } else { Default::default() };
    Page {
        mime,
        charset,
        title: facts.title,
        description: facts.description,
        canonical: facts.canonical,
        base: facts.base,
        lang: facts.lang,
        robots_flags: facts.robots_flags,
        text_digest,
        simhash,
        text,
        links: facts.links,
    }
}

/// A body as Markdown: HTML converted, plain text and XML as their text; empty for other types.
pub fn to_markdown(input: &PageInput<'_>, url: &Url) -> String {
    let (_, form) = mime::classify(input.content_type, input.body);
    if form == Form::Binary {
        return String::new();
    }
    let declared = input.content_type.and_then(mime::charset_of);
    let (text, _) = charset::decode(input.body, declared, form == Form::Html);
    match form {
        Form::Html => markdown(&text, url),
        Form::Xml => xml::scan(&text).text,
        Form::Plain | Form::Binary => plain(&text).text,
    }
}

fn facts_of(
    body: &[u8],
    form: Form,
    declared: Option<&str>,
    agent_token: &str,
    wanted: Wanted,
) -> (Facts, &'static str) {
    let (text, encoding) = charset::decode(body, declared, form == Form::Html);
    let facts = match form {
        Form::Html => html::scan(&text, agent_token, wanted),
        Form::Xml => xml::scan(&text),
        Form::Plain | Form::Binary => plain(&text),
    };
    (facts, encoding.name())
}

/// Plain text keeps its lines. If every line is a URL, it is a sitemap in text form.
fn plain(text: &str) -> Facts {
    let mut writer = text::TextWriter::new(text.len());
    writer.begin_pre();
    writer.push(text, tokeniser::Text::Cdata);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_url = |line: &str| links::is_absolute(line) && !line.contains(char::is_whitespace);
    let mut links = links::LinkSet::default();
    if lines().all(is_url) {
        for line in lines() {
            links.add(line, LinkKind::A);
        }
    }
    Facts { text: writer.into_string(), links: links.into_links(), ..Facts::default() }
}

#[cfg(test)]
mod tests;
