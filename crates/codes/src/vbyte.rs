//! Variable bytes: seven bits a byte, the lowest first; the high bit says that more follow.

use crate::{Corrupt, Reader};

/// Appends a number: one byte below 2⁷, two below 2¹⁴, at most ten.
#[inline]
pub fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number.
///
/// # Errors
/// When the bytes end inside it, or it needs more than 64 bits.
#[inline]
pub fn read(reader: &mut Reader<'_>) -> Result<u64, Corrupt> {
    let first = reader.byte()?;
    if first < 0x80 {
        return Ok(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = reader.byte()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return if shift == 63 && byte > 1 { Err(Corrupt) } else { Ok(value) };
        }
    }
    Err(Corrupt)
}

/// Reads a number of at most 32 bits.
///
/// # Errors
/// As [`read`], and when it is greater.
#[inline]
pub fn read_u32(reader: &mut Reader<'_>) -> Result<u32, Corrupt> {
    read(reader).and_then(|value| u32::try_from(value).map_err(|_| Corrupt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_these() {
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::from(u32::MAX), &[0xff, 0xff, 0xff, 0xff, 0x0f]),
            (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] {
            let mut out = Vec::new();
            write(value, &mut out);
            assert_eq!(out, bytes);
            let mut reader = Reader::new(&out);
            assert_eq!(read(&mut reader), Ok(value));
            assert!(reader.rest().is_empty());
            assert_eq!(read(&mut Reader::new(&bytes[..bytes.len() - 1])), Err(Corrupt));
        }
    }

    #[test]
    fn numbers_that_are_too_large_are_corrupt() {
        assert_eq!(read(&mut Reader::new(&[0xff; 12])), Err(Corrupt));
        let over = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(read(&mut Reader::new(&over)), Err(Corrupt));
        assert_eq!(read_u32(&mut Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x1f])), Err(Corrupt));
    }
}
