//! The identity of a page's text: equal for pages that differ in markup, white space, dates or
//! counters only.
//!
//! BLAKE3, first 128 bits, of the *normalised text*: ASCII digits dropped, then every run of
//! ASCII white space one space, none at the ends. Case, punctuation and order count, so that
//! different texts are different; all texts of digits alone are one.

/// The digest of a text.
pub fn text_digest(text: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    let bytes = text.as_bytes();
    let end = bytes.iter().rposition(|&b| KIND[b as usize] == KEPT).map_or(0, |last| last + 1);
    let mut normal = [0; BLOCK];
    let mut gap = true;
    for block in bytes[..end].chunks(BLOCK) {
        let mut length = 0;
        let mut words = block.chunks_exact(8);
        for eight in &mut words {
            if let Some(spaces) = plain(eight, gap) {
                normal[length..length + 8].copy_from_slice(eight);
                length += 8;
                gap = spaces >> 63 == 1;
            } else {
                compact(eight, &mut normal, &mut length, &mut gap);
            }
        }
        compact(words.remainder(), &mut normal, &mut length, &mut gap);
        hasher.update(&normal[..length]);
    }
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// Marks the spaces of eight bytes (their top bits) if the bytes are normal as they stand: no
/// digit, no white space but single spaces. It may say no in vain (to `" !"`), never yes.
#[inline]
fn plain(eight: &[u8], gap: bool) -> Option<u64> {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & TOPS;
    let word = u64::from_le_bytes(eight.try_into().ok()?);
    let odd = below(word, 0x20) | below(word ^ (ONES * 0x30), 10);
    let spaces = below(word ^ (ONES * 0x20), 1);
    let double = spaces & (spaces << 8 | u64::from(gap) << 7);
    (odd | double == 0).then_some(spaces)
}

/// Appends what is kept of some bytes.
fn compact(bytes: &[u8], normal: &mut [u8; BLOCK], length: &mut usize, gap: &mut bool) {
    for &byte in bytes {
        match KIND[byte as usize] {
            DIGIT => continue,
            SPACE if *gap => continue,
            SPACE => normal[*length] = b' ',
            _ => normal[*length] = byte,
        }
        *gap = KIND[byte as usize] == SPACE;
        *length += 1;
    }
}

/// Bytes hashed at a time: enough for BLAKE3's widest rounds.
const BLOCK: usize = 16 << 10;

const KEPT: u8 = 0;
const SPACE: u8 = 1;
const DIGIT: u8 = 2;

const KIND: [u8; 256] = {
    let mut kind = [KEPT; 256];
    let mut byte = 0;
    while byte < 256 {
        if (byte as u8).is_ascii_whitespace() {
            kind[byte] = SPACE;
        } else if (byte as u8).is_ascii_digit() {
            kind[byte] = DIGIT;
        }
        byte += 1;
    }
    kind
};

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
    fn a_gap_may_span_blocks() {
        let wide = format!("{}{}{}", "x".repeat(BLOCK - 1), " 7 ".repeat(BLOCK), "y");
        assert_eq!(text_digest(&wide), text_digest(&format!("{} y", "x".repeat(BLOCK - 1))));
    }

    #[test]
    fn it_is_blake3_of_the_normalised_text_whatever_its_length() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let text = "x".repeat(length);
            assert_eq!(text_digest(&text), blake3::hash(text.as_bytes()).as_bytes()[..16]);
        }
    }
}
