//! Randomness: everything on the simulated web is a function of numbers mixed together.
//!
//! `mix` is the finaliser of splitmix64 over a combination of two numbers; [`Rng`] is wyrand
//! (one widening multiplication a number). Neither is for secrets, both are the same on every
//! machine.

/// Mixes two numbers into one.
pub const fn mix(a: u64, b: u64) -> u64 {
    let mut z = a ^ b.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers.
#[derive(Clone)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed, for one purpose.
    pub const fn new(seed: u64, purpose: u64) -> Self {
        Self(mix(seed, purpose))
    }

    /// The next 64 random bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0xa076_1d64_78bd_642f);
        let product = (self.0 as u128) * ((self.0 ^ 0xe703_7ed1_a0b4_28db) as u128);
        (product >> 64) as u64 ^ product as u64
    }

    /// A number below `n`; 0 when `n` is 0.
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True once in `n` times.
    pub const fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_the_same_again_and_differs_by_seed_and_purpose() {
        let take = |seed, purpose| {
            let mut rng = Rng::new(seed, purpose);
            [rng.next(), rng.next(), rng.next()]
        };
        assert_eq!(take(7, 1), take(7, 1));
        assert_ne!(take(7, 1), take(7, 2));
        assert_ne!(take(7, 1), take(8, 1));
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_every_value() {
        let mut rng = Rng::new(1, 1);
        let mut seen = [0u32; 10];
        for _ in 0..10_000 {
            seen[rng.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}
