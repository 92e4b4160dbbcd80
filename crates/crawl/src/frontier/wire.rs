//! Numbers as bytes: LEB128 variable-length integers, zigzag for signed ones.

/// Appends an unsigned integer, seven bits a byte, least significant first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed integer.
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends bytes after their length.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes an unsigned integer off the front; `None` if it is cut or longer than 64 bits.
pub(super) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes an unsigned integer that fits in 32 bits.
pub(super) fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(take_varint(bytes)?).ok()
}

/// Takes a signed integer.
pub(super) fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let value = take_varint(bytes)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Takes bytes after their length.
pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_cut_ones_do_not() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(take_varint(&mut &bytes[..]), Some(value));
            assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            let mut bytes = Vec::new();
            put_signed(&mut bytes, value);
            assert_eq!(take_signed(&mut &bytes[..]), Some(value));
        }
        assert_eq!(take_varint(&mut &[0xff; 12][..]), None);
        assert_eq!(take_bytes(&mut &[5, 1][..]), None);
    }
}
