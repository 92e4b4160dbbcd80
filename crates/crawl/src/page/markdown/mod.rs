//! A page as Markdown (`CommonMark` with the tables and strikethrough of GFM).
//!
//! Headings, paragraphs, lists, quotations, code, tables, links, images and emphasis are kept;
//! scripts, styles, forms' controls and markup that says nothing are left out. Links are absolute.
//! A table that is used for layout (blocks in its cells, or a single column) becomes its cells,
//! one after the other. A definition list becomes a list whose items hold the definitions.
//!
//! Lists and quotations nest as deep as [`MAX_NESTED`]; beyond, their content stands in the last,
//! so that the output is linear in the input.

mod inline;
mod tree;

use inline::Inline;
use tree::Node;

use crate::url::Url;

/// Lists and quotations inside each other; each one indents the text inside once more.
const MAX_NESTED: usize = 10;

const SKIPPED: [&str; 18] = [
    "head", "title", "script", "style", "template", "iframe", "object", "noembed", "noframes",
    "select", "datalist", "textarea", "audio", "video", "canvas", "svg", "dialog", "map",
];
const BLOCKS: [&str; 50] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
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
    "html",
    "legend",
    "li",
    "main",
    "menu",
    "nav",
    "noscript",
    "ol",
    "p",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
    "xmp",
];

/// Converts HTML that is decoded already; `base` is what its links are relative to.
///
/// # Examples
/// ```
/// use crivello_crawl::{page::markdown, url::Url};
/// let base = Url::parse("http://example.org/docs/")?;
/// let html = "<h1>Sieves</h1><p>Each URL <em>once</em>, see <a href='a.html'>here</a>.";
/// assert_eq!(
///     markdown(html, &base),
///     "# Sieves\n\nEach URL *once*, see [here](http://example.org/docs/a.html).\n"
/// );
/// # Ok::<(), crivello_crawl::url::UrlError>(())
/// ```
pub fn markdown(html: &str, base: &Url) -> String {
    let root = tree::tree(html);
    let base = base_of(&root).and_then(|href| base.join(href).ok()).unwrap_or_else(|| base.clone());
    let mut writer = Writer { base: &base, nested: 0, language: String::new() };
    let mut text = writer.blocks(&root).join("\n\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The href of the first `base`.
fn base_of(node: &Node) -> Option<&str> {
    if node.name == "base" && node.attribute("href").is_some() {
        return node.attribute("href");
    }
    node.children.iter().find_map(base_of)
}

fn is_block(node: &Node) -> bool {
    BLOCKS.contains(&node.name.as_str())
}

fn is_skipped(node: &Node) -> bool {
    SKIPPED.contains(&node.name.as_str())
}

struct Writer<'a> {
    base: &'a Url,
    nested: usize,
    /// Of the code that comes, as a class of a `div` around it says (Sphinx).
    language: String,
}

impl Writer<'_> {
    /// The blocks that a node's children make; inline neighbours are a paragraph.
    fn blocks(&mut self, node: &Node) -> Vec<String> {
        let mut blocks = Vec::new();
        let mut inline = Inline::new(self.base);
        for child in &node.children {
            if is_skipped(child) {
                continue;
            }
            if is_block(child) || child.holds_blocks {
                push(&mut blocks, std::mem::replace(&mut inline, Inline::new(self.base)).block());
                self.block(child, &mut blocks);
            } else {
                inline.node(child);
            }
        }
        push(&mut blocks, inline.block());
        blocks
    }

    fn block(&mut self, node: &Node, blocks: &mut Vec<String>) {
        match node.name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = usize::from(node.name.as_bytes()[1] - b'0');
                let text = self.inline(node).replace('\n', " ");
                if !text.is_empty() {
                    blocks.push(format!("{} {text}", "#".repeat(level)));
                }
            }
            "pre" | "xmp" => push(blocks, self.code(node)),
            "hr" => blocks.push("---".to_owned()),
            "blockquote" => {
                let inside = self.inside(|writer| writer.blocks(node)).join("\n\n");
                if self.nested >= MAX_NESTED {
                    push(blocks, inside);
                } else if !inside.is_empty() {
                    blocks.push(prefixed(&inside, "> ", "> "));
                }
            }
            "ul" | "ol" | "menu" | "dir" => self.list(node, blocks),
            "dl" => self.definitions(node, blocks),
            "table" => self.table(node, blocks),
            "a" => {
                let mut inside = self.blocks(node);
                if let (Some(first), Some(href)) = (inside.first_mut(), node.attribute("href")) {
                    self.link(first, href);
                }
                blocks.extend(inside);
            }
            _ => {
                let outer = self.language.clone();
                if let Some(language) = node.attribute("class").and_then(language) {
                    self.language = language;
                }
                blocks.extend(self.blocks(node));
                self.language = outer;
            }
        }
    }

    /// A link around blocks: its first, where that is a line of text, is what leads on.
    fn link(&self, block: &mut String, href: &str) {
        let start = block.len() - block.trim_start_matches('#').trim_start().len();
        let lines = block.contains('\n') || block.starts_with(['-', '>', '|', '`']);
        if !lines && !block.contains("](") && !is_script(href) {
            let target = Inline::new(self.base).target(href);
            *block = format!("{}[{}]({target})", &block[..start], &block[start..]);
        }
    }

    fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.nested += 1;
        let done = work(self);
        self.nested -= 1;
        done
    }

    fn inline(&self, node: &Node) -> String {
        let mut inline = Inline::new(self.base);
        inline.children(node);
        inline.finish()
    }

    fn code(&self, node: &Node) -> String {
        let mut text = String::new();
        raw_text(node, &mut text);
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.is_empty() {
            return String::new();
        }
        let mut stated = [Some(node), node.children.first()].into_iter().flatten();
        let language = stated
            .find_map(|node| node.attribute("class").and_then(language))
            .unwrap_or_else(|| self.language.clone());
        let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
        format!("{fence}{language}\n{text}\n{fence}")
    }

    fn list(&mut self, node: &Node, blocks: &mut Vec<String>) {
        let ordered = node.name == "ol";
        let mut number: u64 =
            node.attribute("start").and_then(|start| start.parse().ok()).unwrap_or(1);
        let (mut items, mut loose) = (Vec::new(), false);
        for child in &node.children {
            if is_skipped(child) || (child.name.is_empty() && child.text.trim().is_empty()) {
                continue;
            }
            let alone = child.name != "li";
            let inside = self.inside(|writer| {
                if alone && !matches!(child.name.as_str(), "ul" | "ol") {
                    vec![writer.inline(child)]
                } else if alone {
                    let mut blocks = Vec::new();
                    writer.block(child, &mut blocks);
                    blocks
                } else {
                    writer.blocks(child)
                }
            });
            let marker = if ordered { format!("{number}. ") } else { "- ".to_owned() };
            loose |= inside.len() > 2 || (inside.len() == 2 && !is_list(&inside[1]));
            if inside.iter().any(|block| !block.is_empty()) {
                items.push((marker, inside));
                number = number.saturating_add(1);
            }
        }
        self.items(items, loose, blocks);
    }

    /// Terms are items, and what is said of them stands inside.
    fn definitions(&mut self, node: &Node, blocks: &mut Vec<String>) {
        let mut items: Vec<(String, Vec<String>)> = Vec::new();
        let groups = node.children.iter().flat_map(|child| {
            if child.name == "div" {
                child.children.iter()
            } else {
                std::slice::from_ref(child).iter()
            }
        });
        let mut defined = true;
        for child in groups.filter(|child| !is_skipped(child)) {
            let inside = self.inside(|writer| writer.blocks(child));
            if inside.is_empty() {
                continue;
            }
            if child.name == "dt" || items.is_empty() || (defined && child.name != "dd") {
                items.push(("- ".to_owned(), inside));
                defined = false;
            } else if let Some((_, item)) = items.last_mut() {
                item.extend(inside);
                defined = true;
            }
        }
        self.items(items, true, blocks);
    }

    fn items(&self, items: Vec<(String, Vec<String>)>, loose: bool, blocks: &mut Vec<String>) {
        if self.nested >= MAX_NESTED {
            blocks.extend(items.into_iter().flat_map(|(_, inside)| inside));
            return;
        }
        let items: Vec<String> = items
            .into_iter()
            .map(|(marker, inside)| {
                let text = inside.join(if loose { "\n\n" } else { "\n" });
                prefixed(&text, &marker, &" ".repeat(marker.len()))
            })
            .collect();
        push(blocks, items.join(if loose { "\n\n" } else { "\n" }));
    }

    fn table(&mut self, node: &Node, blocks: &mut Vec<String>) {
        let (mut rows, mut strays) = (Vec::new(), Vec::new());
        for caption in node.children.iter().filter(|child| child.name == "caption") {
            blocks.extend(self.blocks(caption));
        }
        collect_rows(node, false, &mut rows, &mut strays);
        for stray in strays {
            if is_block(stray) {
                self.block(stray, blocks);
            } else {
                let mut inline = Inline::new(self.base);
                inline.node(stray);
                push(blocks, inline.block());
            }
        }
        let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let layout = columns < 2
            || rows.iter().flat_map(|row| &row.cells).any(|cell| {
                cell.children.iter().filter(|child| is_block(child)).count() > 1
                    || holds_layout(cell)
            });
        if layout {
            for cell in rows.iter().flat_map(|row| &row.cells) {
                blocks.extend(self.blocks(cell));
            }
            return;
        }
        let mut lines = Vec::new();
        if !rows.first().is_some_and(|row| row.head) {
            lines.push(table_line(&vec![String::new(); columns]));
            lines.push(table_line(&vec!["---".to_owned(); columns]));
        }
        for (number, row) in rows.iter().enumerate() {
            let mut cells: Vec<String> = row
                .cells
                .iter()
                .map(|cell| self.inline(cell).replace("  \n", "<br>").replace('\n', " "))
                .map(|text| text.replace('|', "\\|"))
                .collect();
            cells.resize(columns, String::new());
            lines.push(table_line(&cells));
            if number == 0 && row.head {
                lines.push(table_line(&vec!["---".to_owned(); columns]));
            }
        }
        blocks.push(lines.join("\n"));
    }
}

struct Row<'a> {
    cells: Vec<&'a Node>,
    head: bool,
}

/// The rows of a table; and what stands between its cells, where nothing should.
fn collect_rows<'a>(
    node: &'a Node,
    head: bool,
    rows: &mut Vec<Row<'a>>,
    strays: &mut Vec<&'a Node>,
) {
    for child in node.children.iter().filter(|child| !is_skipped(child)) {
        match child.name.as_str() {
            "tr" => {
                let (cells, others): (Vec<&Node>, Vec<&Node>) = child
                    .children
                    .iter()
                    .partition(|cell| matches!(cell.name.as_str(), "td" | "th"));
                strays.extend(others);
                let all_heads = cells.iter().all(|cell| cell.name == "th");
                if !cells.is_empty() {
                    rows.push(Row { cells, head: head || all_heads });
                }
            }
            "thead" => collect_rows(child, true, rows, strays),
            "tbody" | "tfoot" => collect_rows(child, false, rows, strays),
            "caption" => {}
            _ => strays.push(child),
        }
    }
}

/// Whether something stands in a cell that no line of a table can hold.
fn holds_layout(node: &Node) -> bool {
    const WIDE: [&str; 8] = ["pre", "xmp", "table", "ul", "ol", "dl", "blockquote", "hr"];
    node.children.iter().any(|child| WIDE.contains(&child.name.as_str()) || holds_layout(child))
}

fn table_line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

fn is_list(block: &str) -> bool {
    block.starts_with("- ") || block.starts_with(|first: char| first.is_ascii_digit())
}

fn is_script(href: &str) -> bool {
    href.trim_start().get(..11).is_some_and(|scheme| scheme.eq_ignore_ascii_case("javascript:"))
}

fn push(blocks: &mut Vec<String>, block: String) {
    if !block.is_empty() {
        blocks.push(block);
    }
}

/// Each line after a prefix; empty lines get it without the blanks at its end.
fn prefixed(text: &str, first: &str, other: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let prefix = if number == 0 { first } else { other };
        out.push_str(if line.is_empty() { prefix.trim_end() } else { prefix });
        out.push_str(line);
    }
    out
}

/// All text inside, as it stands.
fn raw_text(node: &Node, out: &mut String) {
    out.push_str(&node.text);
    if node.name == "br" {
        out.push('\n');
    }
    for child in node.children.iter().filter(|child| !is_skipped(child)) {
        raw_text(child, out);
    }
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|letter| letter != of).map(str::len).max().unwrap_or(0)
}

/// The language in a class: `language-x` (HTML's own), `lang-x`, `highlight-x` (Sphinx).
fn language(class: &str) -> Option<String> {
    let named = class.split_ascii_whitespace().find_map(|word| {
        ["language-", "lang-", "highlight-"].iter().find_map(|prefix| word.strip_prefix(prefix))
    })?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_.#".contains(&byte);
    let unnamed = matches!(named, "default" | "none" | "text");
    (!unnamed && named.bytes().all(plain)).then(|| named.to_owned())
}

#[cfg(test)]
mod tests;
