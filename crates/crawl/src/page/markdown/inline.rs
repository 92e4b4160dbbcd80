//! What stands inside a paragraph: text, emphasis, code, links, images, line breaks.

use super::tree::Node;
use super::{is_script, is_skipped, longest_run, raw_text};
use crate::url::Url;

/// Collects inline Markdown and collapses white space.
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct Inline<'a> {
    base: &'a Url,
    out: String,
    gap: bool,
    strong: bool,
    emphasis: bool,
    link: bool,
}

impl<'a> Inline<'a> {
    pub(super) fn new(base: &'a Url) -> Self {
        Self { base, out: String::new(), gap: false, strong: false, emphasis: false, link: false }
    }

    /// The text, without white space at its ends.
    pub(super) fn finish(self) -> String {
        self.out.trim_matches(['\n', ' ']).to_owned()
    }

    /// The same as a block of its own: what would begin a list or heading is escaped.
    pub(super) fn block(self) -> String {
        let text = self.finish();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let after = &text[digits..];
        if digits > 0 && digits < 10 && (after.starts_with(". ") || after.starts_with(") ")) {
            return format!("{}\\{after}", &text[..digits]);
        }
        let marks = text.starts_with(['#', '+', '-', '>', '=', '~']) && !text.starts_with("~~");
        if marks { format!("\\{text}") } else { text }
    }

    pub(super) fn children(&mut self, node: &Node) {
        for child in node.children.iter().filter(|child| !is_skipped(child)) {
            self.node(child);
        }
    }

    pub(super) fn node(&mut self, node: &Node) {
        match node.name.as_str() {
            "" => self.text(&node.text),
            "br" => {
                if !self.out.is_empty() && !self.out.ends_with('\n') {
                    self.out.push_str("  \n");
                }
                self.gap = false;
            }
            "em" | "i" | "dfn" | "var" if !self.emphasis => {
                self.emphasis = true;
                self.wrapped(node, "*");
                self.emphasis = false;
            }
            "strong" | "b" if !self.strong => {
                self.strong = true;
                self.wrapped(node, "**");
                self.strong = false;
            }
            "del" | "s" | "strike" => self.wrapped(node, "~~"),
            "code" | "tt" | "kbd" | "samp" => self.code(node),
            "a" if !self.link => self.anchor(node),
            "img" => self.image(node),
            "input" | "button" | "wbr" => {}
            "q" => {
                self.push("“");
                self.children(node);
                self.out.push('”');
            }
            _ => {
                let block = super::is_block(node);
                self.gap |= block;
                self.children(node);
                self.gap |= block;
            }
        }
    }

    fn text(&mut self, text: &str) {
        for (number, word) in text.split(|letter: char| letter.is_ascii_whitespace()).enumerate() {
            self.gap |= number > 0;
            if !word.is_empty() {
                let escaped = escaped(word);
                self.push(&escaped);
            }
        }
    }

    /// Writes after the space that is due.
    fn push(&mut self, part: &str) {
        if self.gap && !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        self.gap = false;
        self.out.push_str(part);
    }

    /// What the children write, apart; and whether white space stood before and after it.
    fn apart(&mut self, node: &Node) -> (bool, String, bool) {
        let before = std::mem::take(&mut self.out);
        let gap = std::mem::take(&mut self.gap);
        // A mark in place of what came before: it shows whether white space comes first.
        self.out.push('\u{1}');
        self.children(node);
        let inner = std::mem::replace(&mut self.out, before);
        let inner = inner.trim_start_matches('\u{1}');
        let leading = inner.starts_with([' ', '\n']);
        let trailing = std::mem::replace(&mut self.gap, gap) || inner.ends_with([' ', '\n']);
        (leading, inner.trim_matches([' ', '\n']).to_owned(), trailing)
    }

    fn wrapped(&mut self, node: &Node, mark: &str) {
        let (leading, inner, trailing) = self.apart(node);
        self.gap |= leading;
        if !inner.is_empty() {
            self.push(&format!("{mark}{inner}{mark}"));
        }
        self.gap |= trailing;
    }

    /// Code; a link inside stays one, around its part of the code.
    fn code(&mut self, node: &Node) {
        let mut text = String::new();
        for child in node.children.iter().filter(|child| !is_skipped(child)) {
            match child.attribute("href") {
                Some(href) if child.name == "a" && !self.link => {
                    self.span(&text);
                    text.clear();
                    let mut linked = Inline::new(self.base);
                    linked.link = true;
                    linked.code(child);
                    let (inner, target) = (linked.finish(), self.target(href));
                    if !inner.is_empty() {
                        self.push(&format!("[{inner}]({target})"));
                    }
                }
                _ => raw_text(child, &mut text),
            }
        }
        self.span(&text);
    }

    fn span(&mut self, text: &str) {
        self.gap |= text.starts_with(|letter: char| letter.is_ascii_whitespace());
        let words = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if !words.is_empty() {
            let fence = "`".repeat(longest_run(&words, '`') + 1);
            let pad = if words.starts_with('`') || words.ends_with('`') { " " } else { "" };
            self.push(&format!("{fence}{pad}{words}{pad}{fence}"));
        }
        self.gap |= text.ends_with(|letter: char| letter.is_ascii_whitespace());
    }

    fn anchor(&mut self, node: &Node) {
        self.link = true;
        let (leading, inner, trailing) = self.apart(node);
        self.link = false;
        self.gap |= leading;
        match node.attribute("href") {
            _ if inner.is_empty() || inner == "¶" => {} // a mark to link to a heading by
            Some(href) if !is_script(href) => {
                let target = self.target(href);
                self.push(&format!("[{inner}]({target})"));
            }
            _ => self.push(&inner),
        }
        self.gap |= trailing;
    }

    fn image(&mut self, node: &Node) {
        let alt = node.attribute("alt").unwrap_or_default();
        let alt = alt.split_ascii_whitespace().map(escaped).collect::<Vec<_>>().join(" ");
        match node.attribute("src") {
            Some(src) if !src.starts_with("data:") => {
                let target = self.target(src);
                self.push(&format!("![{alt}]({target})"));
            }
            _ => self.push(&alt),
        }
    }

    /// A link's target: absolute where it is a URL, in brackets where it would end too early.
    pub(super) fn target(&self, href: &str) -> String {
        let href = href.trim();
        let (page, fragment) = href.split_once('#').map_or((href, None), |(a, b)| (a, Some(b)));
        let joined = if page.is_empty() { None } else { self.base.join(page).ok() };
        let mut target = joined.map_or_else(|| page.to_owned(), |url| url.as_str().to_owned());
        if let Some(fragment) = fragment {
            target.push('#');
            target.push_str(fragment);
        }
        let odd = |letter: char| letter.is_ascii_whitespace() || letter.is_ascii_control();
        if target.contains(['(', ')', '<', '>']) || target.contains(odd) {
            let clean: String =
                target.chars().filter(|letter| !letter.is_ascii_control()).collect();
            return format!("<{}>", clean.replace('<', "%3C").replace('>', "%3E"));
        }
        target
    }
}

/// A word in which nothing is markup.
fn escaped(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 4);
    let letters: Vec<char> = word.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let next = letters.get(at + 1).copied();
        let before = at.checked_sub(1).map(|at| letters[at]);
        let inner = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
        let markup = match letter {
            '\\' | '`' | '*' | '[' | ']' | '<' => true,
            '_' => !(inner(before) && inner(next)),
            '~' => next == Some('~') || before == Some('~'),
            '&' => next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '#'),
            _ => false,
        };
        if markup {
            out.push('\\');
        }
        if letter != '\u{1}' {
            out.push(letter);
        }
    }
    out
}
