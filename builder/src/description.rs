//! The description that a kernel's crate exports beside its entry point.

use crate::Arch;

/// Prefix of the symbol that describes an entry point.
pub(crate) const SYMBOL_PREFIX: &str = "falchion_description_";

const MAGIC: u32 = 0x4643_4C46;
const VERSION: u32 = 1;
const HEADER_WORDS: usize = 12;

/// The launch requirements of a kernel, as its crate states them.
///
/// In the device crate it is a static `falchion_description_NAME` of little-endian 32-bit words: magic, version, word count,
/// compute capability, architecture-specific features, threads a block, minimum blocks a multiprocessor, three cluster
/// dimensions, dynamic shared bytes, kind, then a payload that belongs to the kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// What the kernel is compiled for.
    pub arch: Arch,
    /// Threads a block.
    pub threads: u32,
    /// Blocks that a multiprocessor must be able to hold; 0 leaves it to `ptxas`.
    pub minimum_blocks: u32,
    /// Blocks a cluster in x, y and z; all 1 where the kernel uses no cluster.
    pub cluster: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared_bytes: u32,
    /// What the payload means: 0 plain, 1 GEMM, 2 convolution.
    pub kind: u32,
    /// Words that belong to the kind.
    pub payload: Vec<u32>,
}

/// What is wrong with a description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// The initialiser is not an array of bytes (it holds a pointer or padding, say).
    #[error("its initialiser is not plain bytes")]
    NotBytes,
    /// Too short, or cut within a word.
    #[error("it has {0} bytes: expected a multiple of 4, at least 48")]
    Length(usize),
    /// The first word is something else.
    #[error("its magic is {0:#010x}: expected {MAGIC:#010x}")]
    Magic(u32),
    /// Written for another version of this crate.
    #[error("its version is {0}: expected {VERSION}")]
    Version(u32),
    /// Word 2 disagrees with the array.
    #[error("it states {stated} words and has {actual}")]
    WordCount {
        /// Word 2.
        stated: u32,
        /// The array's length.
        actual: usize,
    },
    /// A compute capability that is none of [`Arch::ALL`].
    #[error("its compute capability is {0}: expected 75, 80, 89 or 90")]
    UnknownArch(u32),
    /// A block no GPU can run.
    #[error("it asks for {0} threads a block: expected 1 to 1024")]
    Threads(u32),
    /// A cluster with an empty side, with more than 16 blocks, or on an architecture without clusters.
    #[error("it asks for a cluster of {0}x{1}x{2} blocks: expected 1 to 16 in all, and 1x1x1 before sm_90a")]
    Cluster(u32, u32, u32),
}

impl Description {
    /// Checks and decodes the words.
    ///
    /// # Errors
    /// [`DescriptionError`] says which word is wrong, what it is and what was expected.
    pub fn from_words(words: &[u32]) -> Result<Self, DescriptionError> {
        if words.len() < HEADER_WORDS {
            return Err(DescriptionError::Length(words.len() * 4));
        }
        match (words[0], words[1], words[2]) {
            (magic, ..) if magic != MAGIC => return Err(DescriptionError::Magic(magic)),
            (_, version, _) if version != VERSION => return Err(DescriptionError::Version(version)),
            (.., stated) if stated as usize != words.len() => {
                return Err(DescriptionError::WordCount { stated, actual: words.len() });
            }
            _ => {}
        }
        let arch = Arch::from_compute(words[3]).ok_or(DescriptionError::UnknownArch(words[3]))?;
        if !(1..=1024).contains(&words[5]) {
            return Err(DescriptionError::Threads(words[5]));
        }
        let cluster = [words[7], words[8], words[9]];
        let blocks = cluster.iter().try_fold(1_u32, |product, side| product.checked_mul(*side));
        let most = if arch == Arch::Sm90a { 16 } else { 1 };
        if !blocks.is_some_and(|blocks| (1..=most).contains(&blocks)) {
            return Err(DescriptionError::Cluster(words[7], words[8], words[9]));
        }
        Ok(Description {
            arch,
            threads: words[5],
            minimum_blocks: words[6],
            cluster,
            shared_bytes: words[10],
            kind: words[11],
            payload: words[HEADER_WORDS..].to_vec(),
        })
    }
}

/// The words of a description's definition in textual IR, `@… = constant [N x i8] c"…"`.
///
/// rustc writes a static with zeroed stretches as a struct of literals and `zeroinitializer`s; the order is the bytes' order.
pub(crate) fn words_of_definition(definition: &str) -> Result<Vec<u32>, DescriptionError> {
    let bytes = bytes_of_initialiser(definition).ok_or(DescriptionError::NotBytes)?;
    if bytes.is_empty() || bytes.len() % 4 != 0 {
        return Err(DescriptionError::Length(bytes.len()));
    }
    Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

fn bytes_of_initialiser(definition: &str) -> Option<Vec<u8>> {
    let mut rest = definition.split_once(" constant ").or_else(|| definition.split_once(" global "))?.1;
    if rest.starts_with("<{") {
        // The type comes first, its elements then come again with their values.
        rest = rest.split_once("}>")?.1;
    }
    if rest.split('"').step_by(2).any(|code| code.contains("ptr ")) {
        return None;
    }
    let mut bytes = Vec::new();
    while let Some(start) = rest.find('[') {
        let (count, tail) = rest[start + 1..].split_once(" x i8] ")?;
        let count: usize = count.parse().ok()?;
        let before = bytes.len();
        if let Some(literal) = tail.strip_prefix("c\"") {
            let (literal, tail) = literal.split_once('"')?;
            unescape(literal, &mut bytes)?;
            rest = tail;
        } else {
            rest = tail.strip_prefix("zeroinitializer")?;
            bytes.resize(before + count, 0);
        }
        if bytes.len() - before != count {
            return None;
        }
    }
    Some(bytes)
}

fn unescape(literal: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut bytes = literal.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next()? {
            b'\\' => out.push(b'\\'),
            high => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                out.push(u8::try_from(digit(high)? * 16 + digit(bytes.next()?)?).ok()?);
            }
        }
    }
    Some(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn words(arch: u32, threads: u32, cluster: [u32; 3]) -> Vec<u32> {
        let [x, y, z] = cluster;
        vec![MAGIC, 1, 13, arch, u32::from(arch == 90), threads, 1, x, y, z, 4096, 1, 77]
    }

    #[test]
    fn words_decode() {
        let description = Description::from_words(&words(80, 128, [1, 1, 1])).unwrap();
        assert_eq!((description.arch, description.threads, description.shared_bytes), (Arch::Sm80, 128, 4096));
        assert_eq!((description.kind, description.payload), (1, vec![77]));
    }

    #[test]
    fn every_wrong_word_is_named() {
        let mut wrong = words(80, 128, [1, 1, 1]);
        wrong[0] = 1;
        assert_eq!(Description::from_words(&wrong), Err(DescriptionError::Magic(1)));
        wrong = words(80, 128, [1, 1, 1]);
        wrong[1] = 2;
        assert_eq!(Description::from_words(&wrong), Err(DescriptionError::Version(2)));
        wrong = words(80, 128, [1, 1, 1]);
        wrong.pop();
        assert_eq!(Description::from_words(&wrong), Err(DescriptionError::WordCount { stated: 13, actual: 12 }));
        assert_eq!(Description::from_words(&wrong[..5]), Err(DescriptionError::Length(20)));
        assert_eq!(Description::from_words(&words(70, 1, [1, 1, 1])), Err(DescriptionError::UnknownArch(70)));
        assert_eq!(Description::from_words(&words(80, 0, [1, 1, 1])), Err(DescriptionError::Threads(0)));
        assert_eq!(Description::from_words(&words(80, 1025, [1, 1, 1])), Err(DescriptionError::Threads(1025)));
        assert_eq!(Description::from_words(&words(80, 32, [2, 1, 1])), Err(DescriptionError::Cluster(2, 1, 1)));
        assert_eq!(Description::from_words(&words(90, 32, [4, 0, 1])), Err(DescriptionError::Cluster(4, 0, 1)));
        assert!(Description::from_words(&words(90, 32, [16, 1, 1])).is_ok());
    }

    #[test]
    fn initialisers_decode() {
        let plain = r#"@falchion_description_k = constant [8 x i8] c"FL\\F\01\00\00\7F", align 4"#;
        assert_eq!(words_of_definition(plain), Ok(vec![u32::from_le_bytes(*b"FL\\F"), 0x7F00_0001]));
        let pieces = r#"@x = constant <{ [4 x i8], [4 x i8] }> <{ [4 x i8] c"\01\00\00\00", [4 x i8] zeroinitializer }>, align 4"#;
        assert_eq!(words_of_definition(pieces), Ok(vec![1, 0]));
        let zero = "@x = constant [4 x i8] zeroinitializer, align 4";
        assert_eq!(words_of_definition(zero), Ok(vec![0]));
        let odd = r#"@x = constant [3 x i8] c"abc""#;
        assert_eq!(words_of_definition(odd), Err(DescriptionError::Length(3)));
        let pointer = "@x = constant <{ ptr, [4 x i8] }> <{ ptr @y, [4 x i8] zeroinitializer }>";
        assert_eq!(words_of_definition(pointer), Err(DescriptionError::NotBytes));
        let undefined = "@x = constant <{ [4 x i8] }> <{ [4 x i8] undef }>";
        assert_eq!(words_of_definition(undefined), Err(DescriptionError::NotBytes));
    }
}
