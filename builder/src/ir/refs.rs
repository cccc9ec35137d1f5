//! Finds what a piece of textual LLVM IR refers to.

use std::ops::Range;

/// A name or number that points at another top-level entity of the module.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(super) enum Reference<'a> {
    /// `@name` or `@"name"`, without the quotes.
    Symbol(&'a str),
    /// `!12`
    Metadata(u32),
    /// `#3`
    Attributes(u32),
}

/// Calls `found` with every reference in `text` outside string literals, and the bytes it occupies.
///
/// LLVM escapes quotes and newlines inside literals as `\22` and `\0A`, so a literal ends at the next quote.
pub(super) fn references<'a>(text: &'a str, mut found: impl FnMut(Reference<'a>, Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_literal(bytes, at),
            b'@' if bytes.get(at + 1) == Some(&b'"') => {
                let end = end_of_literal(bytes, at + 1);
                found(Reference::Symbol(&text[at + 2..end - 1]), at..end);
                at = end;
            }
            b'@' => {
                let end = at + 1 + bytes[at + 1..].iter().take_while(|b| is_identifier(**b)).count();
                if end > at + 1 {
                    found(Reference::Symbol(&text[at + 1..end]), at..end);
                }
                at = end;
            }
            sigil @ (b'!' | b'#') => {
                let end = at + 1 + bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
                if let Ok(number) = text[at + 1..end].parse() {
                    let reference =
                        if sigil == b'!' { Reference::Metadata(number) } else { Reference::Attributes(number) };
                    found(reference, at..end);
                }
                at = end;
            }
            _ => at += 1,
        }
    }
}

/// The index just past the literal whose opening quote is at `open`.
pub(super) fn end_of_literal(bytes: &[u8], open: usize) -> usize {
    let body = bytes[open + 1..].iter().take_while(|b| **b != b'"').count();
    (open + body + 2).min(bytes.len())
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'$' | b'.' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_hide_what_looks_like_a_reference() {
        let mut found = Vec::new();
        references(
            r#"call void @f(ptr @"a b") #5, !dbg !12, !srcloc !7 ; asm "@no !1 #2" @alloc_3.x"#,
            |reference, _| found.push(reference),
        );
        assert_eq!(
            found,
            [
                Reference::Symbol("f"),
                Reference::Symbol("a b"),
                Reference::Attributes(5),
                Reference::Metadata(12),
                Reference::Metadata(7),
                Reference::Symbol("alloc_3.x"),
            ]
        );
    }
}
