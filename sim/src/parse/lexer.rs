//! PTX text to tokens.
//!
//! Opcodes with their modifiers (`ld.global.L1::no_allocate.v4.b32`), directives (`.reg`) and registers
//! (`%tid.x`) are one word each: the grammar gives the dot no other meaning.

use crate::error::ParseError;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'a> {
    /// An identifier, opcode, directive or register.
    Word(&'a str),
    /// A decimal, hexadecimal, octal or binary integer.
    Integer(u64),
    /// `0fXXXXXXXX`: the bits of a single-precision number.
    Single(u32),
    /// `0dXXXXXXXXXXXXXXXX`: the bits of a double-precision number.
    Double(u64),
    /// A decimal floating-point literal such as `1.5`.
    Decimal(f64),
    /// A quoted string, without its quotes.
    Text(&'a str),
    /// One punctuation character.
    Mark(char),
}

/// A token and the line it stands on, counted from 1.
#[derive(Debug, Clone)]
pub(crate) struct Spanned<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) line: u32,
    /// Byte range in the text.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// Splits `text` into tokens; comments and white space vanish.
pub(crate) fn tokenize(text: &str) -> Result<Vec<Spanned<'_>>, ParseError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut at = 0;
    let mut line = 1u32;
    while at < bytes.len() {
        let byte = bytes[at];
        let rest = &bytes[at..];
        if byte == b'\n' {
            line += 1;
            at += 1;
        } else if byte.is_ascii_whitespace() {
            at += 1;
        } else if rest.starts_with(b"//") {
            at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            let end = text[at..].find("*/").ok_or(ParseError::UnexpectedEnd { line, expected: "`*/`" })?;
            line += text[at..at + end].matches('\n').count() as u32;
            at += end + 2;
        } else if byte == b'"' {
            let end =
                text[at + 1..].find('"').ok_or(ParseError::UnexpectedEnd { line, expected: "a closing quote" })?;
            let token = Token::Text(&text[at + 1..at + 1 + end]);
            tokens.push(Spanned { token, line, start: at, end: at + end + 2 });
            at += end + 2;
        } else if byte.is_ascii_digit() {
            let (token, length) = number(&text[at..], line)?;
            tokens.push(Spanned { token, line, start: at, end: at + length });
            at += length;
        } else if is_word_byte(byte) || (byte == b'.' && rest.get(1).is_some_and(|&b| is_word_byte(b))) {
            let length = word_length(rest);
            let token = Token::Word(&text[at..at + length]);
            tokens.push(Spanned { token, line, start: at, end: at + length });
            at += length;
        } else if byte.is_ascii() {
            tokens.push(Spanned { token: Token::Mark(byte as char), line, start: at, end: at + 1 });
            at += 1;
        } else {
            return Err(ParseError::Syntax {
                line,
                found: text[at..].chars().take(1).collect(),
                expected: "ASCII text".into(),
            });
        }
    }
    Ok(tokens)
}

/// A word goes on over `.` and `::` when a word byte follows.
fn word_length(rest: &[u8]) -> usize {
    let mut length = 1;
    loop {
        let tail = &rest[length..];
        let joined = |skip: usize| tail.get(skip).is_some_and(|&b| is_word_byte(b));
        if joined(0) {
            length += 1;
        } else if tail.starts_with(b"::") && joined(2) {
            length += 3;
        } else if tail.starts_with(b".") && joined(1) {
            length += 2;
        } else {
            return length;
        }
    }
}

fn number(text: &str, line: u32) -> Result<(Token<'_>, usize), ParseError> {
    let bytes = text.as_bytes();
    let digits = |from: usize, radix: u32| bytes[from..].iter().take_while(|&&b| (b as char).is_digit(radix)).count();
    let bad = |length: usize| ParseError::Syntax {
        line,
        found: text[..length.min(text.len())].into(),
        expected: "a number".into(),
    };
    let suffix = |end: usize| end + usize::from(bytes.get(end) == Some(&b'U'));
    let radix = |from: usize, radix: u32| -> Result<(Token<'_>, usize), ParseError> {
        let end = from + digits(from, radix);
        let value = u64::from_str_radix(&text[from..end], radix).map_err(|_| bad(end))?;
        Ok((Token::Integer(value), suffix(end)))
    };
    match bytes.get(..2) {
        Some(b"0f" | b"0F") => {
            let end = 2 + digits(2, 16);
            let bits = u32::from_str_radix(&text[2..end], 16).map_err(|_| bad(end))?;
            return Ok((Token::Single(bits), end));
        }
        Some(b"0d" | b"0D") => {
            let end = 2 + digits(2, 16);
            let bits = u64::from_str_radix(&text[2..end], 16).map_err(|_| bad(end))?;
            return Ok((Token::Double(bits), end));
        }
        Some(b"0x" | b"0X") => return radix(2, 16),
        Some(b"0b" | b"0B") => return radix(2, 2),
        _ => {}
    }
    let whole = digits(0, 10);
    let is_decimal = bytes.get(whole) == Some(&b'.') && bytes.get(whole + 1).is_some_and(u8::is_ascii_digit);
    if is_decimal {
        let mut end = whole + 1 + digits(whole + 1, 10);
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            end += 1 + sign + digits(end + 1 + sign, 10);
        }
        let value = text[..end].parse().map_err(|_| bad(end))?;
        return Ok((Token::Decimal(value), end));
    }
    if bytes[0] == b'0' && whole > 1 {
        return radix(1, 8);
    }
    radix(0, 10)
}
