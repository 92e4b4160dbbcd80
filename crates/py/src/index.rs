//! Border of `index`.

use crivello_index::analysis::Tokens;
use pyo3::prelude::*;

/// The terms of a text: term, first character, character behind it.
#[pyfunction]
fn analyse(text: &str) -> Vec<(String, usize, usize)> {
    let mut tokens = Tokens::new(text);
    let (mut found, mut byte, mut character) = (Vec::new(), 0, 0);
    while let Some(token) = tokens.next() {
        let start = character + text[byte..token.start].chars().count();
        let end = start + text[token.start..token.end].chars().count();
        (byte, character) = (token.end, end);
        found.push((token.term.to_owned(), start, end));
    }
    found
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(analyse, module)?)
}
