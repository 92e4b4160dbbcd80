//! A small tree of a page: what Markdown needs of the standard's tree construction.
//!
//! End tags that may be left out are put in (`p`, `li`, `td`, …), an end tag closes what is open
//! inside its element, and one that fits nothing is passed over; an end tag inside a table's cell
//! never closes the cell. Elements deeper than [`MAX_DEPTH`] become children of the deepest.

use super::is_block;
use crate::page::decode;
use crate::page::tokeniser::{Content, Name, Sink, Text, tokenise};

/// Deeper nesting is flattened: whoever walks the tree may recurse.
pub(super) const MAX_DEPTH: usize = 200;

const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
const CLOSES_P: [&str; 34] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "search",
    "section",
    "table",
    "ul",
];
const CELLS: [&str; 3] = ["td", "th", "caption"];
const ROWS: [&str; 3] = ["thead", "tbody", "tfoot"];

/// A node: an element with a name, or text without one.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// In lower case; empty for text.
    pub name: String,
    pub text: String,
    /// `href`, `src`, `alt`, `class` and `start`, where they are.
    pub attributes: Vec<(&'static str, String)>,
    pub children: Vec<Node>,
    /// Whether a block stands somewhere inside.
    pub holds_blocks: bool,
}

const KEPT: [&str; 5] = ["href", "src", "alt", "class", "start"];

impl Node {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The tree of a page; its root has no name.
pub(super) fn tree(html: &str) -> Node {
    let mut builder = Builder { open: vec![Node::default()], begun: Node::default(), deeper: 0 };
    tokenise(html, &mut builder);
    while builder.open.len() > 1 {
        builder.pop();
    }
    builder.open.pop().unwrap_or_default()
}

struct Builder {
    /// The elements that are open; the first is the root.
    open: Vec<Node>,
    begun: Node,
    /// Elements open beyond the greatest depth, which have no node.
    deeper: usize,
}

impl Builder {
    fn pop(&mut self) {
        if self.open.len() > 1
            && let Some(node) = self.open.pop()
        {
            self.add(node);
        }
    }

    fn add(&mut self, node: Node) {
        if let Some(parent) = self.open.last_mut() {
            parent.holds_blocks |= node.holds_blocks || is_block(&node);
            parent.children.push(node);
        }
    }

    /// Closes the innermost open element that has one of these names, unless one of `barriers`
    /// is met before.
    fn close_open(&mut self, names: &[&str], barriers: &[&str]) {
        let found = self.open.iter().rposition(|node| {
            names.contains(&node.name.as_str()) || barriers.contains(&node.name.as_str())
        });
        let Some(at) = found.filter(|&at| at > 0) else { return };
        if names.contains(&self.open[at].name.as_str()) {
            while self.open.len() > at {
                self.pop();
            }
        }
    }

    /// Closes what the start tag `name` ends without saying so.
    fn imply(&mut self, name: &str) {
        if CLOSES_P.contains(&name) {
            self.close_open(&["p"], &["td", "th", "caption", "table", "button", "li", "dd"]);
        }
        match name {
            "li" => self.close_open(&["li"], &["ul", "ol", "menu", "dir", "td", "th", "table"]),
            "dt" | "dd" => self.close_open(&["dt", "dd"], &["dl", "td", "th", "table"]),
            "td" | "th" => {
                self.close_open(&["td", "th"], &["tr", "table"]);
                let open = self.open.last().map_or("", |node| node.name.as_str());
                if open == "table" || ROWS.contains(&open) {
                    self.open.push(Node { name: "tr".to_owned(), ..Node::default() });
                }
            }
            "tr" => self.close_open(&["tr"], &["table"]),
            "thead" | "tbody" | "tfoot" => self.close_open(&ROWS, &["table"]),
            "option" | "optgroup" => self.close_open(&["option"], &["select"]),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let open = self.open.last().map_or("", |node| node.name.as_str());
                if matches!(open, "h1" | "h2" | "h3" | "h4" | "h5" | "h6") {
                    self.pop();
                }
            }
            _ => {}
        }
    }
}

impl<'a> Sink<'a> for Builder {
    fn text(&mut self, raw: &'a str, kind: Text) {
        let text = decode::text(raw, kind).replace('\0', "");
        let Some(parent) = self.open.last_mut() else { return };
        if let Some(last) = parent.children.last_mut().filter(|last| last.name.is_empty()) {
            last.text.push_str(&text);
        } else {
            parent.children.push(Node { text, ..Node::default() });
        }
    }

    fn start(&mut self, name: Name<'a>) {
        let name = decode::plain(name.raw).to_ascii_lowercase();
        self.begun = Node { name, ..Node::default() };
    }

    fn attribute(&mut self, name: Name<'a>, value: &'a str) {
        let Some(kept) = KEPT.into_iter().find(|kept| name.is(kept)) else { return };
        if self.begun.attribute(kept).is_none() {
            self.begun.attributes.push((kept, decode::attribute(value).into_owned()));
        }
    }

    fn open(&mut self, _self_closing: bool) -> Content {
        let node = std::mem::take(&mut self.begun);
        self.imply(&node.name);
        let content = match node.name.as_str() {
            "title" | "textarea" => Content::Rcdata,
            "script" => Content::Script,
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => Content::Rawtext,
            "plaintext" => Content::Plaintext,
            _ => Content::Data,
        };
        if VOID.contains(&node.name.as_str()) {
            self.add(node);
        } else if self.open.len() <= MAX_DEPTH {
            self.open.push(node);
        } else {
            self.deeper += 1;
        }
        content
    }

    fn close(&mut self, name: Name<'a>) {
        let name = decode::plain(name.raw).to_ascii_lowercase();
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        if name == "br" {
            self.add(Node { name, ..Node::default() });
        } else if CELLS.contains(&name.as_str())
            || ROWS.contains(&name.as_str())
            || matches!(name.as_str(), "tr" | "table")
        {
            self.close_open(&[&name], if name == "table" { &[] } else { &["table"] });
        } else {
            self.close_open(&[&name], &CELLS);
        }
    }
}
