//! Cost models of memory requests: shared-memory wavefronts and global sectors.

/// Banks of shared memory, 4 bytes wide each.
const BANKS: usize = 32;

/// Wavefronts and phases of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wavefronts {
    pub(crate) wavefronts: u32,
    /// What the request would take without conflicts.
    pub(crate) ideal: u32,
}

/// Wavefronts of an access of `bytes` bytes a lane at `addresses`, of the lanes in `active`.
///
/// Up to 4 bytes a lane the warp goes in one phase, 8 bytes in two half-warps, 16 bytes in four quarter-warps.
/// A phase takes as many wavefronts as the busiest bank has distinct words; lanes on one word share it.
pub(crate) fn wavefronts(addresses: &[u64; 32], active: u32, bytes: u32) -> Wavefronts {
    let words = (bytes / 4).max(1);
    let lanes = 32 / words;
    let mut total = Wavefronts::default();
    for phase in 0..words {
        let mut rows = Rows::default();
        let mut any = false;
        for lane in phase * lanes..(phase + 1) * lanes {
            if active >> lane & 1 == 1 {
                any = true;
                let first = (addresses[lane as usize] / 4) as u32;
                (first..first + words).for_each(|word| rows.add(word));
            }
        }
        if any {
            total.ideal += 1;
            total.wavefronts += rows.depth();
        }
    }
    total
}

/// Wavefronts of one phase that touches a 16-byte row at each address, as `ldmatrix` does for one 8 × 8 matrix.
pub(crate) fn matrix_wavefronts(rows: &[u64]) -> u32 {
    let mut banks = Rows::default();
    for &address in rows {
        let first = (address / 4) as u32;
        (first..first + 4).for_each(|word| banks.add(word));
    }
    banks.depth()
}

/// The distinct words of one phase. The first of each bank is kept apart, since most phases have no second.
struct Rows {
    first: [u32; BANKS],
    further: [u32; BANKS],
    further_count: usize,
}

impl Default for Rows {
    fn default() -> Self {
        Self { first: [u32::MAX; BANKS], further: [0; BANKS], further_count: 0 }
    }
}

impl Rows {
    #[inline]
    fn add(&mut self, word: u32) {
        let first = &mut self.first[word as usize % BANKS];
        if *first == u32::MAX {
            *first = word;
        } else if *first != word {
            // A phase has at most 32 words.
            self.further[self.further_count] = word;
            self.further_count += 1;
        }
    }

    fn depth(&mut self) -> u32 {
        let further = &mut self.further[..self.further_count];
        further.sort_unstable();
        let mut extra = [0u32; BANKS];
        let mut previous = u32::MAX;
        for &word in further.iter() {
            if word != previous {
                extra[word as usize % BANKS] += 1;
                previous = word;
            }
        }
        1 + extra.into_iter().max().unwrap_or(0)
    }
}

/// Distinct 32-byte sectors that aligned accesses of at most 16 bytes at `addresses` touch.
pub(crate) fn sectors(addresses: &[u64; 32], active: u32) -> u32 {
    let mut list = [0u64; 32];
    let mut count = 0;
    let mut sorted = true;
    for (lane, address) in addresses.iter().enumerate() {
        if active >> lane & 1 == 1 {
            let sector = address >> 5;
            if count > 0 && list[count - 1] == sector {
                continue;
            }
            sorted &= count == 0 || list[count - 1] < sector;
            list[count] = sector;
            count += 1;
        }
    }
    if !sorted {
        let list = &mut list[..count];
        list.sort_unstable();
        let repeats = list.windows(2).filter(|pair| pair[0] == pair[1]).count();
        count -= repeats;
    }
    count as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64) -> [u64; 32] {
        std::array::from_fn(|lane| lane as u64 * stride)
    }

    fn of(addresses: [u64; 32], bytes: u32) -> (u32, u32) {
        let found = wavefronts(&addresses, u32::MAX, bytes);
        (found.wavefronts, found.ideal)
    }

    #[test]
    fn words_at_stride_s_take_gcd_of_s_and_32_wavefronts() {
        for (stride, expected) in [(1, 1), (2, 2), (3, 1), (4, 4), (32, 32), (33, 1)] {
            assert_eq!(of(strided(4 * stride), 4), (expected, 1), "stride of {stride} words");
        }
    }

    #[test]
    fn lanes_on_one_word_are_served_together() {
        assert_eq!(of([64; 32], 4), (1, 1));
        assert_eq!(of(std::array::from_fn(|l| l as u64), 1), (1, 1));
    }

    #[test]
    fn contiguous_vectors_cost_their_width_only() {
        assert_eq!(of(strided(8), 8), (2, 2));
        assert_eq!(of(strided(16), 16), (4, 4));
        assert_eq!(of(strided(128), 16), (32, 4));
    }

    #[test]
    fn sectors_are_counted_once_in_any_order() {
        assert_eq!(sectors(&strided(4), u32::MAX), 4);
        assert_eq!(sectors(&strided(128), u32::MAX), 32);
        assert_eq!(sectors(&std::array::from_fn(|l| (31 - l as u64) * 4), u32::MAX), 4);
        assert_eq!(sectors(&std::array::from_fn(|l| (l as u64 % 2) * 32), u32::MAX), 2);
        assert_eq!(sectors(&strided(4), 0xff), 1);
    }
}
