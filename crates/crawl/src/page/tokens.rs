//! Tokens as values, with everything decoded: for conformance tests and for people who want to
//! see what the tokeniser sees.

use std::collections::HashSet;

use super::decode;
use super::tokeniser::{Content, Name, Sink, Text, resume};

/// A token of the standard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A start tag: name, attributes (the first of each name), whether it closes itself.
    Start(String, Vec<(String, String)>, bool),
    /// An end tag.
    End(String),
    /// Characters; neighbours are joined.
    Text(String),
    /// A comment.
    Comment(String),
    /// A document type, as it stands after the word.
    Doctype(String),
}

/// The tokens of a text read from a state of the tokeniser alone: what a tree would change
/// after a start tag does not happen. `last` is the last start tag's name.
pub fn tokens(input: &str, content: Content, last: &str) -> Vec<Token> {
    let mut list = List { foreign: content == Content::Cdata, ..List::default() };
    resume(input, content, last, &mut list);
    list.tokens
}

#[derive(Default)]
struct List {
    tokens: Vec<Token>,
    name: String,
    attributes: Vec<(String, String)>,
    seen: HashSet<String>,
    foreign: bool,
}

fn folded(name: Name<'_>) -> String {
    decode::plain(name.raw).to_ascii_lowercase()
}

impl<'a> Sink<'a> for List {
    fn text(&mut self, raw: &'a str, kind: Text) {
        let text = decode::text(raw, kind);
        if let Some(Token::Text(before)) = self.tokens.last_mut() {
            before.push_str(&text);
        } else {
            self.tokens.push(Token::Text(text.into_owned()));
        }
    }

    fn start(&mut self, name: Name<'a>) {
        self.name = folded(name);
        self.attributes.clear();
        self.seen.clear();
    }

    fn attribute(&mut self, name: Name<'a>, value: &'a str) {
        let name = folded(name);
        if self.seen.insert(name.clone()) {
            self.attributes.push((name, decode::attribute(value).into_owned()));
        }
    }

    fn open(&mut self, self_closing: bool) -> Content {
        let name = std::mem::take(&mut self.name);
        let attributes = std::mem::take(&mut self.attributes);
        self.tokens.push(Token::Start(name, attributes, self_closing));
        Content::Data
    }

    fn close(&mut self, name: Name<'a>) {
        self.tokens.push(Token::End(folded(name)));
    }

    fn comment(&mut self, raw: &'a str) {
        self.tokens.push(Token::Comment(decode::plain(raw).into_owned()));
    }

    fn doctype(&mut self, raw: &'a str) {
        self.tokens.push(Token::Doctype(decode::plain(raw).into_owned()));
    }

    fn foreign(&self) -> bool {
        self.foreign
    }
}
