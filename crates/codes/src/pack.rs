//! Blocks of up to 128 integers in packed bits, with exceptions (patched frame of reference).
//!
//! All integers of a block take `b` bits each, and the few that need more are *exceptions*: their
//! low `b` bits stand in their place, their high bits behind. `b` is chosen so that the block is
//! as short as can be (Yan, Ding, Suel, *Inverted index compression and query processing with
//! optimized document ordering*, WWW 2009).
//!
//! ```text
//! head          1 byte: b (0..=32), + 0x40 when there are exceptions
//! if exceptions 1 byte their number e, 1 byte the bits of their high parts h (1..=32)
//! body          128 integers: 16·b bytes, in four lanes; fewer: ⌈n·b/8⌉ bytes, one after the other
//! if exceptions e bytes their places, rising; ⌈e·h/8⌉ bytes their high parts, one after the other
//! ```
//!
//! One after the other means that integer i has bits i·b to (i+1)·b of the body, bit 0 being the
//! lowest of the first byte. In lanes, integer 4·i + l has bits i·b to (i+1)·b of lane l, which is
//! made of the little-endian 32-bit words l, l + 4, l + 8, … of the body: four integers are
//! unpacked at a time (Lemire and Boytsov, *Decoding billions of integers per second through
//! vectorization*, 2015).

use crate::{Corrupt, Reader};

/// Integers in a full block.
pub const BLOCK: usize = 128;

const PATCHED: u8 = 0x40;

/// Bits that a number needs; 0 needs none.
fn width(value: u32) -> u32 {
    32 - value.leading_zeros()
}

/// Appends a block.
///
/// # Panics
/// When there are no values, or more than [`BLOCK`].
pub fn write(values: &[u32], out: &mut Vec<u8>) {
    assert!((1..=BLOCK).contains(&values.len()), "a block has 1 to 128 integers");
    let mut widths = [0; 33];
    for &value in values {
        widths[width(value) as usize] += 1;
    }
    let widest = widths.iter().rposition(|&count| count > 0).unwrap_or(0);
    let (mut bits, mut least, mut exceptions) = (widest, body_len(values.len(), widest), 0);
    let mut above = 0;
    for narrow in (0..widest).rev() {
        above += widths[narrow + 1];
        let patches = 2 + above + (above * (widest - narrow)).div_ceil(8);
        let length = body_len(values.len(), narrow) + patches;
        if length < least {
            (bits, least, exceptions) = (narrow, length, above);
        }
    }
    let high = widest - bits;
    if exceptions == 0 {
        out.push(bits as u8);
    } else {
        out.extend([bits as u8 | PATCHED, exceptions as u8, high as u8]);
    }
    if values.len() == BLOCK {
        write_lanes(values, bits, out);
    } else {
        write_bits(values.iter().map(|&value| value & mask(bits)), bits, out);
    }
    if exceptions > 0 {
        let patched = || values.iter().enumerate().filter(|(_, v)| width(**v) as usize > bits);
        out.extend(patched().map(|(place, _)| place as u8));
        write_bits(patched().map(|(_, &value)| value >> bits), high, out);
    }
}

/// Reads a block of `count` integers into the front of `out`.
///
/// # Errors
/// When the bytes are not those of such a block.
#[inline]
pub fn read(reader: &mut Reader<'_>, count: usize, out: &mut [u32; BLOCK]) -> Result<(), Corrupt> {
    let head = reader.byte()?;
    if head > 32 {
        return read_patched(reader, head, count, out);
    }
    read_body(reader, count, usize::from(head), out)
}

fn read_patched(
    reader: &mut Reader<'_>,
    head: u8,
    count: usize,
    out: &mut [u32; BLOCK],
) -> Result<(), Corrupt> {
    let bits = usize::from(head ^ PATCHED);
    let (exceptions, high) = (usize::from(reader.byte()?), usize::from(reader.byte()?));
    if bits + high > 32 || high == 0 || exceptions > count {
        return Err(Corrupt);
    }
    read_body(reader, count, bits, out)?;
    let places = reader.take(exceptions)?;
    let mut parts = Bits::new(reader.take((exceptions * high).div_ceil(8))?);
    for &place in places {
        let value = out[..count].get_mut(usize::from(place)).ok_or(Corrupt)?;
        *value |= parts.next(high) << bits;
    }
    Ok(())
}

fn read_body(
    reader: &mut Reader<'_>,
    count: usize,
    bits: usize,
    out: &mut [u32; BLOCK],
) -> Result<(), Corrupt> {
    if count > BLOCK {
        return Err(Corrupt);
    }
    if bits == 0 {
        out[..count].fill(0);
        return Ok(());
    }
    let body = reader.take(body_len(count, bits))?;
    if count == BLOCK {
        read_lanes(body, bits, out);
    } else {
        let mut packed = Bits::new(body);
        for value in &mut out[..count] {
            *value = packed.next(bits);
        }
    }
    Ok(())
}

/// Moves past a block of `count` integers.
///
/// # Errors
/// When the bytes end inside it.
pub fn skip(reader: &mut Reader<'_>, count: usize) -> Result<(), Corrupt> {
    let head = reader.byte()?;
    let patches = if head & PATCHED == 0 {
        0
    } else {
        let (exceptions, high) = (usize::from(reader.byte()?), usize::from(reader.byte()?));
        exceptions + (exceptions * high).div_ceil(8)
    };
    reader.take(body_len(count, usize::from(head & !PATCHED)) + patches).map(drop)
}

fn mask(bits: usize) -> u32 {
    ((1_u64 << bits) - 1) as u32
}

fn body_len(count: usize, bits: usize) -> usize {
    (count * bits).div_ceil(8)
}

fn write_bits(values: impl Iterator<Item = u32>, bits: usize, out: &mut Vec<u8>) {
    let (mut word, mut held) = (0_u64, 0);
    for value in values {
        word |= u64::from(value) << held;
        held += bits;
        while held >= 8 {
            out.push(word as u8);
            word >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(word as u8);
    }
}

/// Integers one after the other.
struct Bits<'a> {
    bytes: &'a [u8],
    word: u64,
    held: usize,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, word: 0, held: 0 }
    }

    /// The next `bits` bits; zeros behind the end.
    #[inline]
    fn next(&mut self, bits: usize) -> u32 {
        if self.held < bits {
            self.refill();
        }
        let value = self.word as u32 & mask(bits);
        self.word >>= bits;
        self.held -= bits;
        value
    }

    #[inline]
    fn refill(&mut self) {
        if let Some((word, rest)) = self.bytes.split_first_chunk::<4>() {
            self.word |= u64::from(u32::from_le_bytes(*word)) << self.held;
            self.bytes = rest;
        } else {
            for (place, &byte) in self.bytes.iter().enumerate() {
                self.word |= u64::from(byte) << (self.held + 8 * place);
            }
            self.bytes = &[];
        }
        self.held += 32;
    }
}

fn write_lanes(values: &[u32], bits: usize, out: &mut Vec<u8>) {
    let mut words = [0_u32; 4 * 33];
    for (place, value) in values.iter().enumerate() {
        let (lane, bit) = (place % 4, place / 4 * bits);
        let wide = u64::from(value & mask(bits)) << (bit % 32);
        words[bit / 32 * 4 + lane] |= wide as u32;
        words[(bit / 32 + 1) * 4 + lane] |= (wide >> 32) as u32;
    }
    out.extend(words[..4 * bits].iter().flat_map(|word| word.to_le_bytes()));
}

/// Unpacks lanes of `B` bits. All shifts are constants, four lanes go at a time.
#[inline]
fn unpack<const B: usize>(body: &[u8], out: &mut [u32; BLOCK]) {
    let mut words = [[0_u32; 4]; B];
    for (word, bytes) in words.iter_mut().zip(body.as_chunks::<16>().0) {
        for (lane, bytes) in word.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *lane = u32::from_le_bytes(*bytes);
        }
    }
    macro_rules! step {
        ($place:expr) => {
            let (word, shift) = ($place * B / 32, $place * B % 32);
            for lane in 0..4 {
                let mut value = words[word][lane] >> shift;
                if shift + B > 32 {
                    value |= words[(word + 1) % B][lane] << ((32 - shift) % 32);
                }
                out[4 * $place + lane] = value & mask(B);
            }
        };
    }
    {
        step!(0);
        step!(1);
        step!(2);
        step!(3);
        step!(4);
        step!(5);
        step!(6);
        step!(7);
        step!(8);
        step!(9);
        step!(10);
        step!(11);
        step!(12);
        step!(13);
        step!(14);
        step!(15);
        step!(16);
        step!(17);
        step!(18);
        step!(19);
        step!(20);
        step!(21);
        step!(22);
        step!(23);
        step!(24);
        step!(25);
        step!(26);
        step!(27);
        step!(28);
        step!(29);
        step!(30);
        step!(31);
    }
}

fn read_lanes(words: &[u8], bits: usize, out: &mut [u32; BLOCK]) {
    match bits {
        1 => unpack::<1>(words, out),
        2 => unpack::<2>(words, out),
        3 => unpack::<3>(words, out),
        4 => unpack::<4>(words, out),
        5 => unpack::<5>(words, out),
        6 => unpack::<6>(words, out),
        7 => unpack::<7>(words, out),
        8 => unpack::<8>(words, out),
        9 => unpack::<9>(words, out),
        10 => unpack::<10>(words, out),
        11 => unpack::<11>(words, out),
        12 => unpack::<12>(words, out),
        13 => unpack::<13>(words, out),
        14 => unpack::<14>(words, out),
        15 => unpack::<15>(words, out),
        16 => unpack::<16>(words, out),
        17 => unpack::<17>(words, out),
        18 => unpack::<18>(words, out),
        19 => unpack::<19>(words, out),
        20 => unpack::<20>(words, out),
        21 => unpack::<21>(words, out),
        22 => unpack::<22>(words, out),
        23 => unpack::<23>(words, out),
        24 => unpack::<24>(words, out),
        25 => unpack::<25>(words, out),
        26 => unpack::<26>(words, out),
        27 => unpack::<27>(words, out),
        28 => unpack::<28>(words, out),
        29 => unpack::<29>(words, out),
        30 => unpack::<30>(words, out),
        31 => unpack::<31>(words, out),
        32 => unpack::<32>(words, out),
        _ => unreachable!("widths are checked to be at most 32"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// xorshift64*, for values without a pattern.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
        }
    }

    fn there_and_back(values: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(values, &mut bytes);
        let mut out = [7; BLOCK];
        let mut reader = Reader::new(&bytes);
        read(&mut reader, values.len(), &mut out).unwrap();
        assert_eq!(&out[..values.len()], values);
        assert!(reader.rest().is_empty());
        let mut reader = Reader::new(&bytes);
        skip(&mut reader, values.len()).unwrap();
        assert!(reader.rest().is_empty());
        bytes
    }

    #[test]
    fn the_bits_are_these() {
        assert_eq!(there_and_back(&[0, 0, 0]), [0]);
        assert_eq!(there_and_back(&[1, 2, 3, 4, 5]), [3, 0b1101_0001, 0b0101_1000]);
        let mut values = [0; 10];
        values[9] = 0xabc;
        assert_eq!(there_and_back(&values), [0x40, 1, 12, 9, 0xbc, 0x0a]);
        assert_eq!(there_and_back(&[u32::MAX]), [32, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn a_full_block_has_four_lanes() {
        let values: Vec<u32> = (0..128).map(|i| i % 4).collect();
        let bytes = there_and_back(&values);
        let lane = |value: u32| (0..16).fold(0_u32, |word, i| word | value << (2 * i));
        let mut expected = vec![2];
        for _ in 0..2 {
            expected.extend((0..4).flat_map(|value| lane(value).to_le_bytes()));
        }
        assert_eq!(bytes, expected);
    }

    #[test]
    fn any_values_come_back_and_take_no_more_than_their_widest() {
        let mut random = Random(20_261_119);
        for _ in 0..20_000 {
            let count = if random.next().is_multiple_of(3) { 128 } else { random.next() % 128 + 1 };
            let (usual, rare) = (random.next() % 33, random.next() % 33);
            let odds = random.next() % 40 + 1;
            let values: Vec<u32> = (0..count)
                .map(|_| {
                    let bits = if random.next().is_multiple_of(odds) { rare } else { usual };
                    (random.next() & ((1 << bits) - 1)) as u32
                })
                .collect();
            let widest = values.iter().map(|&v| width(v)).max().unwrap() as usize;
            let bytes = there_and_back(&values);
            assert!(bytes.len() <= 1 + body_len(values.len(), widest));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        let mut random = Random(7);
        let mut out = [0; BLOCK];
        for _ in 0..50_000 {
            let bytes: Vec<u8> = (0..random.next() % 600).map(|_| random.next() as u8).collect();
            let count = (random.next() % 129) as usize;
            let (mut one, mut other) = (Reader::new(&bytes), Reader::new(&bytes));
            if read(&mut one, count, &mut out).is_ok() {
                skip(&mut other, count).unwrap();
                assert_eq!(one.rest().len(), other.rest().len());
            }
        }
    }
}
