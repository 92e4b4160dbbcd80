//! The index against an exhaustive evaluator that shares nothing with it but analysis.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use crivello_crawl::files::Files;

use crate::Error;
use crate::analysis::Tokens;
use crate::builder::Builder;
use crate::merge::merge;
use crate::query::{Leaf, Query};
use crate::searcher::Searcher;

/// xorshift64*, seeded so that a failure can be run again.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A term: few are frequent, many are rare.
    fn term(&mut self) -> String {
        let scale = 1 << self.below(9);
        format!("t{}", self.below(scale))
    }
}

#[derive(Clone)]
struct Document {
    url: u64,
    visit: u64,
    title: Option<String>,
    text: Option<String>,
}

impl Document {
    fn random(random: &mut Random, urls: u64) -> Self {
        let mut words = |most: u64| {
            let length = random.below(most);
            (0..length).map(|_| random.term()).collect::<Vec<_>>().join(" ")
        };
        let (title, text) = (words(5), words(120));
        Self {
            url: random.below(urls),
            visit: random.below(1000),
            title: (!title.is_empty()).then_some(title),
            text: (random.below(20) > 0).then_some(text),
        }
    }
}

fn batch(documents: &[Document]) -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("url", DataType::Utf8, false),
        Field::new("url_hash", DataType::UInt64, false),
        Field::new("visit", DataType::UInt64, false),
        Field::new("fetched_at", DataType::Timestamp(TimeUnit::Microsecond, None), false),
        Field::new("lang", DataType::Utf8, true),
        Field::new("title", DataType::Utf8, true),
        Field::new("text", DataType::Utf8, true),
    ]);
    let urls = documents.iter().map(|d| format!("http://h/{}", d.url));
    let titles = documents.iter().map(|d| d.title.as_deref());
    let texts = documents.iter().map(|d| d.text.as_deref());
    let langs = documents.iter().map(|d| (d.visit % 2 == 0).then_some("en"));
    RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(StringArray::from_iter_values(urls)),
            Arc::new(UInt64Array::from_iter_values(documents.iter().map(|d| d.url))),
            Arc::new(UInt64Array::from_iter_values(documents.iter().map(|d| d.visit))),
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                documents.iter().map(|d| d.visit.cast_signed() * 7),
            )),
            Arc::new(langs.collect::<StringArray>()),
            Arc::new(titles.collect::<StringArray>()),
            Arc::new(texts.collect::<StringArray>()),
        ],
    )
    .unwrap()
}

fn words(text: Option<&str>) -> Vec<String> {
    let mut tokens = Tokens::new(text.unwrap_or_default());
    let mut words = Vec::new();
    while let Some(token) = tokens.next() {
        words.push(token.term.to_owned());
    }
    words
}

type Words = (Vec<String>, Vec<String>, bool);

/// Documents as lists of words, evaluated one by one.
struct Naive {
    /// Of each document title, text and whether it is live.
    segments: Vec<Vec<Words>>,
    n: f64,
    mean: f64,
    df: HashMap<String, f64>,
}

impl Naive {
    fn new(segments: &[Vec<Document>]) -> Self {
        let mut latest = HashMap::new();
        for (place, documents) in segments.iter().enumerate() {
            for (number, document) in documents.iter().enumerate() {
                let key = (document.visit, place, number);
                let entry = latest.entry(document.url).or_insert(key);
                *entry = key.max(*entry);
            }
        }
        let mut naive = Self { segments: Vec::new(), n: 0.0, mean: 0.0, df: HashMap::new() };
        for (place, documents) in segments.iter().enumerate() {
            let mut segment = Vec::new();
            for (number, document) in documents.iter().enumerate() {
                let (title, text) =
                    (words(document.title.as_deref()), words(document.text.as_deref()));
                naive.n += 1.0;
                naive.mean += (text.len() + 4 * title.len()) as f64;
                let mut all = [&title[..], &text[..]].concat();
                all.sort();
                all.dedup();
                for term in all {
                    *naive.df.entry(term).or_default() += 1.0;
                }
                let live = latest[&document.url] == (document.visit, place, number);
                segment.push((title, text, live));
            }
            naive.segments.push(segment);
        }
        naive.mean /= naive.n;
        naive
    }

    fn tf(leaf: &Leaf, title: &[String], text: &[String]) -> f64 {
        let count = |words: &[String]| {
            words.windows(leaf.terms.len()).filter(|window| *window == &leaf.terms[..]).count()
        };
        4.0 * count(title) as f64 + if leaf.title { 0.0 } else { count(text) as f64 }
    }

    fn matches(query: &Query, title: &[String], text: &[String]) -> bool {
        match query {
            Query::Leaf(leaf) => Self::tf(leaf, title, text) > 0.0,
            Query::All(all) => all.iter().all(|query| Self::matches(query, title, text)),
            Query::Any(any) => any.iter().any(|query| Self::matches(query, title, text)),
            Query::Without(query, not) => {
                Self::matches(query, title, text) && !Self::matches(not, title, text)
            }
        }
    }

    fn search(&self, query: &Query, k1: f64, b: f64) -> Vec<(u32, u32, f64)> {
        let mut found = Vec::new();
        for (place, segment) in self.segments.iter().enumerate() {
            for (number, (title, text, live)) in segment.iter().enumerate() {
                if !live || !Self::matches(query, title, text) {
                    continue;
                }
                let length = (text.len() + 4 * title.len()) as f64;
                let mut score = 0.0;
                for leaf in query.positive() {
                    let tf = Self::tf(leaf, title, text);
                    if tf > 0.0 {
                        let mut idf = 0.0;
                        for term in &leaf.terms {
                            let df = self.df[term];
                            idf += (1.0 + (self.n - df + 0.5) / (df + 0.5)).ln();
                        }
                        score +=
                            idf * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * length / self.mean));
                    }
                }
                found.push((place as u32, number as u32, score));
            }
        }
        found.sort_by(|one, other| {
            other.2.total_cmp(&one.2).then((one.0, one.1).cmp(&(other.0, other.1)))
        });
        found
    }
}

fn leaf(random: &mut Random, documents: &[Document]) -> Query {
    let mut terms = vec![random.term()];
    if random.below(3) == 0 {
        // A phrase that is there.
        let document = &documents[random.below(documents.len() as u64) as usize];
        let words = words(document.text.as_deref().filter(|_| random.below(4) > 0));
        let length = random.below(4) as usize + 1;
        if words.len() > length {
            let start = random.below((words.len() - length) as u64) as usize;
            terms = words[start..start + length].to_vec();
        }
    }
    Query::Leaf(Leaf { terms, title: random.below(6) == 0 })
}

fn query(random: &mut Random, documents: &[Document], depth: u64) -> Query {
    let children = |random: &mut Random| {
        let count = random.below(4) + 1;
        (0..count).map(|_| query(random, documents, depth - 1)).collect()
    };
    match random.below(if depth == 0 { 1 } else { 8 }) {
        0 | 1 => leaf(random, documents),
        2..=4 => Query::Any(children(random)),
        5 | 6 => Query::All(children(random)),
        _ => {
            let not = Box::new(query(random, documents, depth - 1));
            Query::Without(Box::new(query(random, documents, depth - 1)), not)
        }
    }
}

fn build(files: &Files, segments: &[Vec<Document>]) -> Vec<String> {
    let mut builder = Builder::new(true, true).unwrap();
    let mut paths = Vec::new();
    for (number, documents) in segments.iter().enumerate() {
        for part in documents.chunks(100) {
            builder.add(&batch(part)).unwrap();
        }
        let path = format!("{number}.seg");
        let (length, crc) = builder.finish(files, &path).unwrap();
        let bytes = files.read(&path).unwrap();
        assert_eq!((length, crc), (bytes.len() as u64, crc32fast::hash(&bytes)));
        assert!(builder.is_empty());
        paths.push(path);
    }
    paths
}

fn open(files: &Files, paths: &[String]) -> Searcher {
    let paths: Vec<_> = paths.iter().map(|path| files.path(path)).collect();
    let searcher = Searcher::open(&paths).unwrap();
    searcher.check().unwrap();
    searcher
}

fn compare(searcher: &Searcher, naive: &Naive, query: &Query, random: &mut Random) {
    let (k1, b) = if random.below(2) == 0 { (1.2, 0.75) } else { (0.9, 0.4) };
    let expected = naive.search(query, k1, b);
    assert_eq!(searcher.count(query).unwrap(), expected.len() as u64, "{query:?}");
    for k in [1, 3, 10, 1000, usize::MAX] {
        let hits = searcher.search(query, k, k1, b).unwrap();
        let hits: Vec<_> =
            hits.iter().map(|h| (h.segment, h.document, h.score.to_bits())).collect();
        let expected: Vec<_> = expected.iter().take(k).map(|h| (h.0, h.1, h.2.to_bits())).collect();
        assert_eq!(hits, expected, "k {k}, {query:?}");
    }
}

#[test]
fn any_query_has_the_results_of_exhaustive_scoring() {
    let mut random = Random(20_261_119);
    for (sizes, queries) in [(&[40, 1][..], 300), (&[700, 0, 300], 60), (&[2000], 30)] {
        let urls = 2 * sizes.iter().sum::<u64>();
        let mut corpus = Vec::new();
        for &size in sizes {
            let documents: Vec<_> =
                (0..size).map(|_| Document::random(&mut random, urls)).collect();
            corpus.push(documents);
        }
        let directory = tempfile::tempdir().unwrap();
        let files = Files::open(directory.path(), false).unwrap();
        let paths = build(&files, &corpus);
        let searcher = open(&files, &paths);
        let naive = Naive::new(&corpus);
        for _ in 0..queries {
            let query = query(&mut random, &corpus[0], 3);
            compare(&searcher, &naive, &query, &mut random);
        }
    }
}

#[test]
fn a_merge_has_the_live_documents_in_order_and_all_that_they_had() {
    let mut random = Random(5);
    let corpus: Vec<Vec<_>> = [300, 0, 500, 200]
        .iter()
        .map(|&size| (0..size).map(|_| Document::random(&mut random, 600)).collect())
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), false).unwrap();
    let paths = build(&files, &corpus);
    let before = open(&files, &paths);
    merge(&files, &paths, "merged.seg").unwrap();
    let searcher = open(&files, &["merged.seg".to_owned()]);
    let mut latest = HashMap::new();
    for (place, document) in corpus.iter().flatten().enumerate() {
        let entry = latest.entry(document.url).or_insert((document.visit, place));
        *entry = (*entry).max((document.visit, place));
    }
    let live: Vec<Document> = corpus
        .iter()
        .flatten()
        .enumerate()
        .filter(|(place, document)| latest[&document.url] == (document.visit, *place))
        .map(|(_, document)| document.clone())
        .collect();
    assert_eq!(searcher.documents_total(), live.len() as u64);
    assert_eq!(searcher.live_total(), before.live_total());
    let mut read = Vec::new();
    let hits = (0..live.len() as u32).map(|document| (0, document));
    searcher
        .documents(hits, |segment, number, stored| {
            assert_eq!(segment.fetched_at(number), segment.visit(number).cast_signed() * 7);
            assert_eq!(stored.url, format!("http://h/{}", segment.url_hash(number)));
            assert_eq!(stored.lang, segment.visit(number).is_multiple_of(2).then_some("en"));
            read.push((stored.title.map(str::to_owned), stored.text.map(str::to_owned)));
        })
        .unwrap();
    assert!(live.iter().map(|d| (d.title.clone(), d.text.clone())).eq(read));
    let naive = Naive::new(std::slice::from_ref(&live));
    for _ in 0..50 {
        let query = query(&mut random, &live, 3);
        compare(&searcher, &naive, &query, &mut random);
    }
    // Built at once, they give the same file.
    let mut builder = Builder::new(true, true).unwrap();
    builder.add(&batch(&live)).unwrap();
    builder.finish(&files, "whole.seg").unwrap();
    assert!(files.read("whole.seg").unwrap() == files.read("merged.seg").unwrap());
}

#[test]
fn a_damaged_segment_is_an_error_or_gives_the_same_answers() {
    let mut random = Random(99);
    let documents: Vec<_> = (0..150).map(|_| Document::random(&mut random, 10_000)).collect();
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), false).unwrap();
    build(&files, std::slice::from_ref(&documents));
    let good = files.read("0.seg").unwrap();
    let queries: Vec<Query> = (0..4).map(|_| query(&mut random, &documents, 2)).collect();
    let answers = |path: &str| -> Result<Vec<_>, Error> {
        let searcher = Searcher::open(&[files.path(path)])?;
        let mut answers = Vec::new();
        let mut failed = searcher.check().err();
        for query in &queries {
            match searcher.search(query, 5, 1.2, 0.75) {
                Ok(hits) => {
                    let places = hits.iter().map(|hit| (hit.segment, hit.document));
                    let mut urls = Vec::new();
                    let read = searcher.documents(places, |_, _, s| urls.push(s.url.to_owned()));
                    failed = failed.or(read.err());
                    answers.push((hits, urls, searcher.count(query).ok()));
                }
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(answers), Err)
    };
    let expected = answers("0.seg").unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << random.below(8);
        files.write_atomic("bad.seg", &bad).unwrap();
        if let Ok(found) = answers("bad.seg") {
            assert_eq!(found, expected, "byte {at}");
        }
    }
    for length in (0..good.len()).step_by(97) {
        files.write_atomic("bad.seg", &good[..length]).unwrap();
        assert!(Searcher::open(&[files.path("bad.seg")]).is_err(), "cut to {length}");
    }
}

#[test]
fn terms_of_any_length_take_a_position_and_the_longest_are_not_found() {
    let long = "x".repeat(256);
    let text = format!("a {long} b {} c", "y".repeat(255));
    let document =
        Document { url: 1, visit: 1, title: Some("漢字 A".to_owned()), text: Some(text) };
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), false).unwrap();
    let paths = build(&files, &[vec![document]]);
    let searcher = open(&files, &paths);
    let count = |terms: &[&str], title| {
        let terms = terms.iter().map(|&term| term.to_owned()).collect();
        searcher.count(&Query::Leaf(Leaf { terms, title })).unwrap()
    };
    assert_eq!(count(&[&long], false), 0);
    assert_eq!(count(&["a", "b"], false), 0);
    assert_eq!(count(&["b", &"y".repeat(255), "c"], false), 1);
    assert_eq!(count(&["漢", "字"], true), 1);
    assert_eq!(count(&["字", "a"], false), 1);
    assert_eq!(count(&["a", "a"], false), 0);
    assert_eq!(count(&["b"], true), 0);
}

#[test]
fn a_query_without_meaning_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), false).unwrap();
    let mut builder = Builder::new(false, false).unwrap();
    builder.finish(&files, "0.seg").unwrap();
    let searcher = open(&files, &["0.seg".to_owned()]);
    let term = || Query::Leaf(Leaf { terms: vec!["a".to_owned()], title: false });
    let phrase = |count| Leaf { terms: vec!["a".to_owned(); count], title: false };
    assert_eq!(searcher.count(&term()).unwrap(), 0);
    assert_eq!(searcher.search(&term(), 10, 1.2, 0.75).unwrap(), []);
    let mut deep = term();
    for _ in 0..64 {
        deep = Query::All(vec![deep]);
    }
    let wrong = [
        Query::Leaf(phrase(0)),
        Query::Leaf(phrase(2)),
        Query::Any(vec![]),
        Query::Any(vec![term(); 1025]),
        Query::Leaf(phrase(9000)),
        deep,
    ];
    for query in wrong {
        assert!(matches!(searcher.count(&query), Err(Error::Asked(_))), "{query:?}");
    }
    for (k1, b) in [(-1.0, 0.5), (f64::NAN, 0.5), (1.0, 1.5), (f64::INFINITY, 0.5)] {
        assert!(searcher.search(&term(), 1, k1, b).is_err());
    }
}
