//! Kernel names, built at compile time from the configuration they stand for.

/// A name of at most [`CAPACITY`](Self::CAPACITY) ASCII characters.
#[derive(Clone, Copy)]
pub struct KernelName {
    bytes: [u8; Self::CAPACITY],
    length: usize,
}

impl KernelName {
    /// Longest name.
    pub const CAPACITY: usize = 128;

    /// The name `text`.
    #[must_use]
    pub const fn new(text: &str) -> Self {
        Self { bytes: [0; Self::CAPACITY], length: 0 }.text(text)
    }

    /// The name with `text` appended.
    ///
    /// # Panics
    /// When the name becomes longer than [`CAPACITY`](Self::CAPACITY).
    #[must_use]
    pub const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut i = 0;
        while i < text.len() {
            self.bytes[self.length] = text[i];
            self.length += 1;
            i += 1;
        }
        self
    }

    /// The name with an ASCII letter appended.
    ///
    /// # Panics
    /// As [`text`](Self::text).
    #[must_use]
    pub const fn letter(mut self, letter: char) -> Self {
        assert!(letter.is_ascii(), "a kernel name is ASCII");
        self.bytes[self.length] = letter as u8;
        self.length += 1;
        self
    }

    /// The name with a decimal number appended.
    ///
    /// # Panics
    /// As [`text`](Self::text).
    #[must_use]
    pub const fn number(self, number: u32) -> Self {
        let leading = if number >= 10 { self.number(number / 10) } else { self };
        leading.letter((b'0' + (number % 10) as u8) as char)
    }

    /// Whether the name is `text`.
    #[must_use]
    pub const fn equals(&self, text: &str) -> bool {
        let text = text.as_bytes();
        if text.len() != self.length {
            return false;
        }
        let mut i = 0;
        while i < text.len() {
            if text[i] != self.bytes[i] {
                return false;
            }
            i += 1;
        }
        true
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::KernelName;

    #[test]
    fn a_name_is_its_parts() {
        let name = KernelName::new("gemm_").number(128).letter('x').number(0).text("_end");
        assert_eq!(name.as_str(), "gemm_128x0_end");
        assert!(name.equals("gemm_128x0_end") && !name.equals("gemm_128x0_en") && !name.equals("gemm_128x0_enD"));
    }
}
