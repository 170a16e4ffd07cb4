//! Sets of small numbers as the bits of a word.

/// The numbers of the set bits, ascending.
pub(crate) fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let number = bits.trailing_zeros();
        bits &= bits.checked_sub(1)?;
        Some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_that_is_set_is_named_once() {
        assert_eq!(ones(0).count(), 0);
        assert_eq!(ones(1 << 63 | 0b101).collect::<Vec<_>>(), [0, 2, 63]);
        assert!(ones(u64::MAX).eq(0..64));
    }
}
