//! The identity of a page's text: equal for pages that differ in markup, white space, dates or
//! counters only.
//!
//! BLAKE3, first 128 bits, of the *normalised text*: ASCII digits dropped, then every run of
//! ASCII white space one space, none at the ends. Case, punctuation and order count, so that
//! different texts are different; all texts of digits alone are one.

/// The digest of a text.
pub fn text_digest(text: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    let mut normal = Vec::with_capacity(BLOCK + 64);
    let (mut gap, mut begun) = (false, false);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let from = at;
        at += bytes[at..].iter().take(BLOCK).position(|&b| skipped(b)).unwrap_or(BLOCK);
        at = at.min(bytes.len());
        if at > from {
            if gap && begun {
                normal.push(b' ');
            }
            (gap, begun) = (false, true);
            normal.extend_from_slice(&bytes[from..at]);
            if normal.len() >= BLOCK {
                hasher.update(&normal);
                normal.clear();
            }
        }
        while at < bytes.len() && skipped(bytes[at]) {
            gap |= bytes[at].is_ascii_whitespace();
            at += 1;
        }
    }
    hasher.update(&normal);
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// Bytes hashed at a time: enough for BLAKE3's widest rounds.
const BLOCK: usize = 16 << 10;

const fn skipped(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, text_digest};

    #[test]
    fn digits_and_the_amount_of_white_space_do_not_count() {
        let digest = text_digest("Read 12 times on 2026-11-18\nby many");
        assert_eq!(digest, text_digest("  Read 7  times on 1999-01-02 by   many "));
        assert_eq!(digest, text_digest("Read times on -- by many"));
        assert_ne!(digest, text_digest("read times on -- by many"));
        assert_ne!(text_digest("ab"), text_digest("a b"));
        assert_eq!(text_digest(""), text_digest(" 12 \n"));
    }

    #[test]
    fn it_is_blake3_of_the_normalised_text_whatever_its_length() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let text = "x".repeat(length);
            assert_eq!(text_digest(&text), blake3::hash(text.as_bytes()).as_bytes()[..16]);
        }
    }
}
