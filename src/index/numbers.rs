//! Numbers in as few bytes as they need: seven bits to a byte, the lowest first.

/// Writes a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number that [`put`] wrote; none if it is cut short or too large.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(first & 0x7f);
        number |= bits << shift;
        if first & 0x80 == 0 {
            return (number >> shift == bits).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX]) {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            bytes.push(7);
            let mut rest = &bytes[..];
            assert_eq!(take(&mut rest), Some(number));
            assert_eq!(rest, [7]);
            assert_eq!(take(&mut &bytes[..bytes.len() - 2]), None);
        }
        assert_eq!(take(&mut &[0xff; 10][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None);
    }
}
