//! The indirect stable sort of S.
//!
//! One radix pass on the top bits scatters the indices, in order, into buckets of about
//! [`BUCKET`] of them; signatures are uniform, so buckets are of like size. Each bucket then fits
//! the cache and is sorted in place by (signature, index), which is the stable order since indices
//! differ. Working memory is the 4 bytes an index and one counter a bucket; equal signatures in
//! excess (one URL offered a million times) only make one bucket longer.

/// Indices in a bucket, on average: their signatures lie in as many cache lines.
const BUCKET: usize = 1024;

/// Positions of `keys` in ascending order of key; equal keys keep their order.
///
/// # Panics
/// When there are more than 2^32 keys.
pub fn sorted_indices(keys: &[u64]) -> Vec<u32> {
    assert!(u32::try_from(keys.len()).is_ok(), "indices are 32 bits wide");
    let bits = (keys.len() / BUCKET).next_power_of_two().ilog2().max(1);
    let bucket_of = |key: u64| (key >> (64 - bits)) as usize;
    let mut ends = vec![0_u32; 1 << bits];
    for &key in keys {
        ends[bucket_of(key)] += 1;
    }
    let mut start = 0;
    for end in &mut ends {
        start += std::mem::replace(end, start);
    }
    let mut order = vec![0_u32; keys.len()];
    for (index, &key) in keys.iter().enumerate() {
        let end = &mut ends[bucket_of(key)];
        order[*end as usize] = index as u32;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        let bucket = &mut order[start..end as usize];
        bucket.sort_unstable_by_key(|&index| (keys[index as usize], index));
        start = end as usize;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_notes() {
        let keys = [b'C', b'F', b'B', b'A', b'A', b'E', b'D'].map(u64::from);
        assert_eq!(sorted_indices(&keys), [3, 4, 2, 0, 6, 5, 1]);
    }

    #[test]
    fn the_order_is_that_of_a_stable_sort() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64; // the seed
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for (count, mask) in
            [(0, !0), (1, !0), (5000, !0), (50_000, !0), (9000, 0xff << 56), (3000, 0)]
        {
            let keys: Vec<u64> = (0..count).map(|_| next() & mask).collect();
            let mut expected: Vec<u32> = (0..count).collect();
            expected.sort_by_key(|&index| keys[index as usize]);
            assert_eq!(sorted_indices(&keys), expected, "{count} keys under {mask:x}");
        }
    }
}
