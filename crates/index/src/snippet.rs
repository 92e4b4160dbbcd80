//! The part of a text that says most about a query.

use std::collections::HashMap;
use std::ops::Range;

use crate::analysis::Tokens;
use crate::query::{Leaf, Query};

/// A part of a text, with its white space collapsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The part.
    pub text: String,
    /// The characters of it that leaves of the query have matched, rising and apart.
    pub marks: Vec<Range<usize>>,
}

/// Where a leaf occurs: characters of the flat text.
#[derive(Clone)]
struct Hit {
    leaf: usize,
    place: Range<usize>,
}

/// The window of at most `width` characters that has the most of the query's positive leaves, of
/// equals the one with more phrases, then the first. It is cut between words where there are
/// spaces. A text without any leaf gives its beginning.
pub fn snippet(text: &str, query: &Query, width: usize) -> Snippet {
    let flat = flatten(text);
    let mut leaves: Vec<&Leaf> = Vec::new();
    for leaf in query.positive() {
        if !leaves.iter().any(|known| known.terms == leaf.terms) {
            leaves.push(leaf);
        }
    }
    let hits = find(&flat, &leaves);
    let focus = best(&hits, &leaves, width);
    let characters = flat.chars().count();
    let window = window(&flat, &focus, characters, width);
    let bytes: Vec<usize> = flat.char_indices().map(|(byte, _)| byte).collect();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(flat.len());
    let part = flat[byte(window.start)..byte(window.end)].to_owned();
    let mut marks: Vec<Range<usize>> = Vec::new();
    for hit in &hits {
        let start = hit.place.start.max(window.start) - window.start;
        let end = hit.place.end.min(window.end).saturating_sub(window.start);
        match marks.last_mut() {
            _ if start >= end => {}
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => marks.push(start..end),
        }
    }
    Snippet { text: part, marks }
}

/// The text with a space for each run of white space, and none at its ends.
fn flatten(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !flat.is_empty() {
            flat.push(' ');
        }
        flat.push_str(word);
    }
    flat
}

/// Where the leaves occur, in the order of their beginnings.
fn find(flat: &str, leaves: &[&Leaf]) -> Vec<Hit> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for term in leaves.iter().flat_map(|leaf| &leaf.terms) {
        let next = numbers.len();
        numbers.entry(term).or_insert(next);
    }
    let mut starting: Vec<Vec<usize>> = vec![Vec::new(); numbers.len()];
    for (number, leaf) in leaves.iter().enumerate() {
        starting[numbers[leaf.terms[0].as_str()]].push(number);
    }
    let mut tokens = Tokens::new(flat);
    let mut found: Vec<(Option<usize>, Range<usize>)> = Vec::new();
    let (mut byte, mut character) = (0, 0);
    while let Some(token) = tokens.next() {
        let start = character + flat[byte..token.start].chars().count();
        character = start + flat[token.start..token.end].chars().count();
        byte = token.end;
        found.push((numbers.get(token.term).copied(), start..character));
    }
    let mut hits = Vec::new();
    for (at, (number, place)) in found.iter().enumerate() {
        let Some(number) = *number else { continue };
        for &leaf in &starting[number] {
            let terms = &leaves[leaf].terms;
            let rest = &found[at..found.len().min(at + terms.len())];
            let same = |(term, token): (&String, &(Option<usize>, _))| {
                token.0 == numbers.get(term.as_str()).copied()
            };
            if rest.len() == terms.len() && terms.iter().zip(rest).all(same) {
                hits.push(Hit { leaf, place: place.start..rest[rest.len() - 1].1.end });
            }
        }
    }
    hits
}

/// The characters from the first to the last hit of the best window.
fn best(hits: &[Hit], leaves: &[&Leaf], width: usize) -> Range<usize> {
    let mut counts = vec![0; leaves.len()];
    let (mut distinct, mut phrases, mut end) = (0, 0, 0);
    let (mut most, mut focus) = ((0, 0), 0..0);
    for (first, hit) in hits.iter().enumerate() {
        while end < hits.len()
            && (end <= first || hits[end].place.end <= hit.place.start.saturating_add(width))
        {
            let leaf = hits[end].leaf;
            counts[leaf] += 1;
            distinct += usize::from(counts[leaf] == 1);
            phrases += usize::from(counts[leaf] == 1 && leaves[leaf].terms.len() > 1);
            end += 1;
        }
        if (distinct, phrases) > most {
            most = (distinct, phrases);
            let last = hits[first..end].iter().map(|hit| hit.place.end).max();
            focus = hit.place.start..last.unwrap_or_default();
        }
        counts[hit.leaf] -= 1;
        distinct -= usize::from(counts[hit.leaf] == 0);
        phrases -= usize::from(counts[hit.leaf] == 0 && leaves[hit.leaf].terms.len() > 1);
    }
    focus
}

/// The focus with what stands around it, as much before as behind, from a word's beginning to a
/// word's end.
fn window(flat: &str, focus: &Range<usize>, characters: usize, width: usize) -> Range<usize> {
    let spaces: Vec<usize> = flat
        .chars()
        .enumerate()
        .filter(|(_, character)| *character == ' ')
        .map(|(place, _)| place)
        .collect();
    let around = width.saturating_sub(focus.len()) / 2;
    let mut start = focus.start.saturating_sub(around);
    start = start.min(characters.saturating_sub(width)).max(focus.end.saturating_sub(width));
    start = start.min(focus.start);
    if start > 0 {
        let next = spaces[spaces.partition_point(|&space| space < start - 1)..].first();
        start = next.map_or(start, |&space| if space < focus.start { space + 1 } else { start });
    }
    let mut end = start.saturating_add(width).min(characters);
    if end < characters {
        let before = spaces[..spaces.partition_point(|&space| space <= end)].last();
        end = before
            .map_or(end, |&space| if space >= focus.end.max(start + 1) { space } else { end });
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(terms: &str) -> Query {
        let terms = terms.split(' ').map(str::to_owned).collect();
        Query::Leaf(Leaf { terms, title: false })
    }

    fn marked(snippet: &Snippet) -> Vec<String> {
        let part = |mark: &Range<usize>| {
            snippet.text.chars().skip(mark.start).take(mark.len()).collect::<String>()
        };
        snippet.marks.iter().map(part).collect()
    }

    #[test]
    fn the_window_has_the_most_leaves_and_marks_them() {
        let filler = "nothing to see here, move along ".repeat(20);
        let text = format!("A sieve. {filler}A static\n\n function and the SIEVE here. {filler}");
        let query = Query::Any(vec![leaf("static function"), leaf("sieve")]);
        let found = snippet(&text, &query, 80);
        assert_eq!(marked(&found), ["static function", "SIEVE"]);
        assert!(found.text.chars().count() <= 80 && found.text.len() > 60);
        assert!(text.contains(found.text.split(' ').next().unwrap()));
        let first = snippet(&text, &leaf("sieve"), 80);
        assert!(first.text.starts_with("A sieve. nothing to see"));
        assert_eq!(marked(&first), ["sieve"]);
    }

    #[test]
    fn a_text_without_the_query_gives_its_beginning() {
        let found = snippet("  one two\nthree four ", &leaf("zzz"), 12);
        assert_eq!(found, Snippet { text: "one two".to_owned(), marks: vec![] });
        assert_eq!(snippet("", &leaf("zzz"), 240).text, "");
        assert_eq!(snippet("one", &leaf("one"), 0).text, "");
    }

    #[test]
    fn characters_are_counted_not_bytes_and_texts_without_spaces_are_cut_anywhere() {
        let text = format!("{}検索エンジン{}", "あ".repeat(500), "い".repeat(500));
        let found = snippet(&text, &leaf("検 索"), 20);
        assert_eq!(found.text.chars().count(), 20);
        assert_eq!(marked(&found), ["検索"]);
    }

    #[test]
    fn any_window_is_of_its_width_and_marks_what_it_should() {
        let mut random = crate::tests::Random(3);
        for _ in 0..3000 {
            let words: Vec<String> = (0..random.below(60))
                .map(|_| "é".repeat(random.below(4) as usize) + &random.below(30).to_string())
                .collect();
            let text = words.join(if random.below(2) == 0 { " " } else { "\n \t" });
            let wanted = ["1", "é2", "3 4", "5"].map(leaf).to_vec();
            let width = random.below(100) as usize;
            let found = snippet(&text, &Query::Any(wanted), width);
            assert!(found.text.chars().count() <= width);
            assert!(flatten(&text).contains(&found.text));
            for mark in marked(&found) {
                let whole = ["1", "é2", "5", "3 4"].contains(&mark.as_str());
                assert!(whole || width < 8, "{mark:?} in {found:?}");
            }
        }
    }
}
