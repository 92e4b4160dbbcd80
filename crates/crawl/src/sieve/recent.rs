//! A cache of recently offered signatures, in front of S.
//!
//! The links of neighbouring pages repeat: menus, footers, the page before and after. A
//! direct-mapped table of signatures drops most repetitions before they cost a place in S and a
//! row of A. It only ever holds signatures whose URL is already in A or Z, so a hit drops an offer
//! that changes nothing, and a miss costs nothing but the row.

/// A power of two of slots; a signature lives in the slot that its top bits name, or nowhere.
#[derive(Debug)]
pub(super) struct Recent {
    slots: Vec<u64>,
    shift: u32,
}

impl Recent {
    /// As many slots as fit the bytes, at least two.
    pub(super) fn new(bytes: usize) -> Self {
        let slots = (bytes / size_of::<u64>()).max(2);
        let bits = slots.ilog2();
        let mut recent = Self { slots: vec![0; 1 << bits], shift: 64 - bits };
        recent.clear();
        recent
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>()
    }

    /// Forgets everything. An empty slot holds a signature that belongs into another one: zero
    /// belongs into the first, all ones into the last.
    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
        self.slots[0] = u64::MAX;
    }

    /// Whether the signature was there; it is now.
    pub(super) fn seen(&mut self, signature: u64) -> bool {
        let slot = &mut self.slots[(signature >> self.shift) as usize];
        std::mem::replace(slot, signature) == signature
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cache_knows_nothing_not_even_zero() {
        for bytes in [0, 16, 1000, 4096] {
            let mut recent = Recent::new(bytes);
            assert!(recent.bytes() <= bytes.max(16));
            for signature in [0, 1, u64::MAX, 1 << 63] {
                assert!(!recent.seen(signature), "{signature} in {bytes} bytes");
                assert!(recent.seen(signature));
                recent.clear();
            }
        }
    }
}
