//! BM25 with its exact bounds.
//!
//! The expression is evaluated in `f64`, in the order in which it is written, so that every
//! evaluation of a query, pruned or not and in any language, gives the same bits.

use crivello_codes::{Corrupt, Reader, vbyte};

/// A little more than any error of rounding: a bound times this is never below a score.
pub const SLACK: f64 = 1.0 + 1e-9;

/// BM25's parameters and the collection's mean length.
#[derive(Debug, Clone, Copy)]
pub struct Bm25 {
    /// Saturation of the number of occurrences.
    pub k1: f64,
    /// Weight of the document's length.
    pub b: f64,
    /// Mean length of a document.
    pub mean: f64,
}

impl Bm25 {
    /// The score of a term that occurs `tf` times in a document of length `length`.
    #[inline]
    pub fn score(&self, idf: f64, tf: u32, length: u32) -> f64 {
        let tf = f64::from(tf);
        let norm = self.k1 * (1.0 - self.b + self.b * f64::from(length) / self.mean);
        idf * tf * (self.k1 + 1.0) / (tf + norm)
    }

    /// For scores of a leaf that are sought above a floor: quick to say that one is not.
    pub fn sieve(&self, idf: f64, floor: f64) -> Sieve {
        let floor = floor.max(0.0);
        let weight = idf * (self.k1 + 1.0) * SLACK - floor;
        let (base, slope) = (self.k1 * (1.0 - self.b), self.k1 * self.b / self.mean);
        Sieve { weight, base: base * floor, slope: slope * floor }
    }

    /// What no score of these points is above.
    pub fn bound(&self, idf: f64, points: &[Point]) -> f64 {
        let scores = points.iter().map(|point| self.score(idf, point.tf, point.length));
        scores.fold(0.0, f64::max) * SLACK
    }
}

/// score > floor, multiplied out so that nothing is divided.
#[derive(Debug, Clone, Copy)]
pub struct Sieve {
    weight: f64,
    base: f64,
    slope: f64,
}

impl Sieve {
    /// False only when the score of such a document is not above the floor.
    #[inline]
    pub fn passes(&self, tf: u32, length: u32) -> bool {
        self.weight * f64::from(tf) >= self.base + self.slope * f64::from(length)
    }
}

/// idf of a term that `df` of `n` documents have.
pub fn idf(n: u64, df: u64) -> f64 {
    let (n, df) = (n as f64, df as f64);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// The number of occurrences and the length of some document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Weighted occurrences.
    pub tf: u32,
    /// Length of the document.
    pub length: u32,
}

/// Keeps of points those that no other dominates: for one k1 and b or another, one of these has
/// the greatest score, as it rises with tf and falls with the length.
#[derive(Default)]
pub struct Frontier {
    /// Least length at each tf that is small.
    least: Vec<u32>,
    large: Vec<Point>,
}

const SMALL: usize = 256;

impl Frontier {
    /// Adds a point.
    #[inline]
    pub fn add(&mut self, point: Point) {
        let tf = point.tf as usize;
        if tf >= SMALL {
            self.large.push(point);
            return;
        }
        if tf >= self.least.len() {
            self.least.resize(tf + 1, u32::MAX);
        }
        self.least[tf] = self.least[tf].min(point.length);
    }

    /// The points that are left, tf falling, and begins anew.
    pub fn take(&mut self, points: &mut Vec<Point>) {
        points.clear();
        self.large.sort_unstable_by_key(|point| (std::cmp::Reverse(point.tf), point.length));
        let mut least = u64::from(u32::MAX) + 1;
        let small = self.least.iter().enumerate().rev().filter(|(_, length)| **length < u32::MAX);
        let small = small.map(|(tf, &length)| Point { tf: tf as u32, length });
        for point in self.large.iter().copied().chain(small) {
            if u64::from(point.length) < least {
                least = u64::from(point.length);
                points.push(point);
            }
        }
        self.least.clear();
        self.large.clear();
    }
}

/// Appends points with tf and length falling.
pub fn write_points(points: &[Point], out: &mut Vec<u8>) {
    vbyte::write(points.len() as u64, out);
    let (mut tf, mut length) = (0, 0);
    for point in points.iter().rev() {
        vbyte::write(u64::from(point.tf - tf), out);
        vbyte::write(u64::from(point.length - length), out);
        (tf, length) = (point.tf, point.length);
    }
}

/// Reads points into `points`, tf and length rising.
///
/// # Errors
/// When they are not points.
#[inline]
pub fn read_points(reader: &mut Reader<'_>, points: &mut Vec<Point>) -> Result<(), Corrupt> {
    points.clear();
    let (mut tf, mut length) = (0_u32, 0_u32);
    for _ in 0..vbyte::read(reader)? {
        tf = tf.checked_add(vbyte::read_u32(reader)?).ok_or(Corrupt)?;
        length = length.checked_add(vbyte::read_u32(reader)?).ok_or(Corrupt)?;
        points.push(Point { tf, length });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frontier_has_the_greatest_score_for_any_parameters() {
        let mut seed = 11_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let (mut frontier, mut kept, mut read) = (Frontier::default(), Vec::new(), Vec::new());
        for _ in 0..300 {
            let points: Vec<Point> = (0..=random(200))
                .map(|_| Point { tf: random(400) as u32 + 1, length: random(5000) as u32 })
                .collect();
            for point in &points {
                frontier.add(*point);
            }
            frontier.take(&mut kept);
            let mut bytes = Vec::new();
            write_points(&kept, &mut bytes);
            read_points(&mut Reader::new(&bytes), &mut read).unwrap();
            read.reverse();
            assert_eq!(read, kept);
            for (k1, b) in [(1.2, 0.75), (0.0, 0.0), (5.0, 1.0), (0.9, 0.1)] {
                let bm25 = Bm25 { k1, b, mean: 800.0 };
                let all = points.iter().map(|p| bm25.score(2.5, p.tf, p.length));
                let best = all.fold(0.0, f64::max);
                let bound = bm25.bound(2.5, &kept);
                assert!(best <= bound && bound <= best * (SLACK + 1e-9));
            }
        }
    }
}
