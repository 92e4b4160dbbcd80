//! Reads every HTML file below a directory into memory and prints, as one line of JSON, the
//! speed of reading pages in one thread: whole (`parse`), and of the text kernels alone.
//!
//! ```text
//! cargo run --release -p crivello-crawl --example page_throughput -- DIR [MAX_FILES] [REPEATS]
//! ```

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use crivello_crawl::page::{PageInput, extract, parse, simhash, text_digest};

fn collect(directory: &Path, most: usize, files: &mut Vec<std::path::PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if files.len() >= most {
            return;
        }
        if path.is_dir() && !path.is_symlink() {
            collect(&path, most, files);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            files.push(path);
        }
    }
}

/// The best of some repetitions, in MB/s of `bytes`.
fn speed(bytes: usize, repeats: usize, mut work: impl FnMut()) -> f64 {
    (0..repeats)
        .map(|_| {
            let begin = Instant::now();
            work();
            bytes as f64 / 1e6 / begin.elapsed().as_secs_f64()
        })
        .fold(0.0, f64::max)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| ".".to_owned());
    let most = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let repeats = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(3);
    let mut files = Vec::new();
    collect(Path::new(&directory), most, &mut files);
    let pages: Vec<String> =
        files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let bytes = pages.iter().map(String::len).sum();
    let input = |page| PageInput { content_type: Some("text/html; charset=utf-8"), body: page };
    let texts: Vec<String> =
        pages.iter().map(|page| parse(&input(page.as_bytes()), "crivello").text).collect();
    let text_bytes = texts.iter().map(String::len).sum();
    let links: usize = pages.iter().map(|page| extract(page, "crivello").links.len()).sum();
    let whole = speed(bytes, repeats, || {
        for page in &pages {
            black_box(parse(&input(page.as_bytes()), "crivello"));
        }
    });
    let extracted = speed(bytes, repeats, || {
        for page in &pages {
            black_box(extract(page, "crivello"));
        }
    });
    let hashed = speed(text_bytes, repeats, || {
        for text in &texts {
            black_box(simhash(text));
        }
    });
    let digested = speed(text_bytes, repeats, || {
        for text in &texts {
            black_box(text_digest(text));
        }
    });
    println!(
        "{{\"pages\": {}, \"bytes\": {bytes}, \"text_bytes\": {text_bytes}, \"links\": {links}, \
         \"parse_mb_s\": {whole:.1}, \"extract_mb_s\": {extracted:.1}, \
         \"simhash_mb_s\": {hashed:.1}, \"text_digest_mb_s\": {digested:.1}}}",
        pages.len()
    );
}
