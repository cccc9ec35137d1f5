//! Module-level directives and variables.

use super::ast::{Initializer, Unit, Variable, VariableSpace};
use super::function;
use super::lexer::{Token, tokenize};
use super::stream::Stream;
use crate::error::ParseError;

/// Parses a whole PTX module.
pub(crate) fn parse(text: &str) -> Result<Unit, ParseError> {
    let mut stream = Stream::new(text, tokenize(text)?);
    let mut unit = Unit::default();
    while stream.peek().is_some() {
        item(&mut stream, &mut unit)?;
    }
    Ok(unit)
}

fn item(stream: &mut Stream<'_>, unit: &mut Unit) -> Result<(), ParseError> {
    let line = stream.line();
    match stream.word("a directive")? {
        ".version" => {
            stream.next("a version number")?;
        }
        ".target" => {
            unit.target = stream.word("a target")?.to_owned();
            while stream.accept(',') {
                stream.word("a target option")?;
            }
        }
        ".address_size" => {
            let bits = stream.integer("64")?;
            if bits != 64 {
                return Err(ParseError::AddressSize { line, bits });
            }
        }
        ".file" => file(stream, unit)?,
        ".section" => section(stream)?,
        ".pragma" => {
            stream.next("a pragma")?;
            stream.expect(';')?;
        }
        ".visible" | ".extern" | ".weak" | ".common" | ".entry" | ".func" | ".global" | ".const" | ".shared" => {
            declaration(stream, unit, line)?
        }
        other => return Err(ParseError::UnknownDirective { line, directive: other.into() }),
    }
    Ok(())
}

fn declaration(stream: &mut Stream<'_>, unit: &mut Unit, line: u32) -> Result<(), ParseError> {
    stream.step_back();
    let mut is_extern = false;
    loop {
        match stream.word("a declaration")? {
            ".visible" | ".weak" | ".common" => {}
            ".extern" => is_extern = true,
            ".entry" => return function::function(stream, unit, true),
            ".func" => return function::function(stream, unit, false),
            word => {
                let space = space(word).ok_or(ParseError::UnknownDirective { line, directive: word.into() })?;
                let mut variable = variable(stream, space)?;
                variable.is_extern = is_extern;
                stream.expect(';')?;
                unit.variables.push(variable);
                return Ok(());
            }
        }
    }
}

fn file(stream: &mut Stream<'_>, unit: &mut Unit) -> Result<(), ParseError> {
    let index = stream.integer32("a file index")?;
    match stream.next("a file name")? {
        Token::Text(name) => unit.files.insert(index, name.to_owned()),
        _ => return Err(stream.unexpected("a quoted file name")),
    };
    while stream.accept(',') {
        stream.integer("a time stamp or size")?;
    }
    Ok(())
}

/// Debug sections carry nothing that runs.
fn section(stream: &mut Stream<'_>) -> Result<(), ParseError> {
    stream.word("a section name")?;
    stream.expect('{')?;
    let mut depth = 1;
    while depth > 0 {
        match stream.next("`}`")? {
            Token::Mark('{') => depth += 1,
            Token::Mark('}') => depth -= 1,
            _ => {}
        }
    }
    Ok(())
}

/// The state space a directive such as `.shared` names.
pub(crate) fn space(word: &str) -> Option<VariableSpace> {
    Some(match word {
        ".global" => VariableSpace::Global,
        ".const" => VariableSpace::Constant,
        ".shared" => VariableSpace::Shared,
        ".local" => VariableSpace::Local,
        ".param" => VariableSpace::Parameter,
        _ => return None,
    })
}

/// Bytes of a fundamental type (`.b32` is 4).
pub(crate) fn type_bytes(word: &str) -> Option<u64> {
    Some(match word {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return None,
    })
}

/// Everything after the state space up to the `;`, `,` or `)` that ends it:
/// `.align 4 .b8 name[12] = {1, 2}` or `.u64 .ptr .global .align 4 name`.
pub(crate) fn variable(stream: &mut Stream<'_>, space: VariableSpace) -> Result<Variable, ParseError> {
    let mut align = None;
    let mut element = 0;
    let name = loop {
        let line = stream.line();
        match stream.word("a type or a name")? {
            // The alignment after `.ptr` is the pointee's.
            ".ptr" => {
                while matches!(stream.peek(), Some(Token::Word(".global" | ".shared" | ".const" | ".local"))) {
                    stream.word("a state space")?;
                }
                if stream.accept_word(".align") {
                    stream.integer("an alignment")?;
                }
            }
            ".align" => align = Some(stream.integer32("an alignment")?),
            ".attribute" => return Err(ParseError::UnknownDirective { line, directive: ".attribute".into() }),
            word if word.starts_with('.') => {
                element = type_bytes(word).ok_or(ParseError::UnknownDirective { line, directive: word.into() })?;
            }
            name => break name.to_owned(),
        }
    };
    let mut size = element;
    while stream.accept('[') {
        let length = if stream.accept(']') {
            0
        } else {
            let length = stream.integer("an array length")?;
            stream.expect(']')?;
            length
        };
        size = size.saturating_mul(length);
    }
    let mut initializer = Vec::new();
    if stream.accept('=') {
        initial_value(stream, element as usize, &mut initializer)?;
    }
    let align = align.unwrap_or(element.max(1) as u32);
    Ok(Variable { name, space, align, size, is_extern: false, initializer })
}

fn initial_value(stream: &mut Stream<'_>, element: usize, out: &mut Vec<Initializer>) -> Result<(), ParseError> {
    if stream.accept('{') {
        loop {
            initial_value(stream, element, out)?;
            if stream.accept('}') {
                return Ok(());
            }
            stream.expect(',')?;
        }
    }
    let negative = stream.accept('-');
    let bits = match stream.peek() {
        Some(&Token::Integer(value)) => {
            stream.next("a value")?;
            if stream.accept('(') {
                let first = value.trailing_zeros() as usize / 8;
                let (name, offset) = symbol(stream)?;
                stream.expect(')')?;
                out.push(Initializer::Address { name, offset, first, bytes: element });
                return Ok(());
            }
            if negative { value.wrapping_neg() } else { value }
        }
        Some(&Token::Single(bits)) => {
            stream.next("a value")?;
            u64::from(bits)
        }
        Some(&Token::Double(bits)) => {
            stream.next("a value")?;
            bits
        }
        _ => {
            let (name, offset) = symbol(stream)?;
            out.push(Initializer::Address { name, offset, first: 0, bytes: element });
            return Ok(());
        }
    };
    let bytes = &bits.to_le_bytes()[..element.min(8)];
    match out.last_mut() {
        Some(Initializer::Bytes(run)) => run.extend_from_slice(bytes),
        _ => out.push(Initializer::Bytes(bytes.to_vec())),
    }
    Ok(())
}

/// `name`, `name+8` or `generic(name)+8`.
fn symbol(stream: &mut Stream<'_>) -> Result<(String, i64), ParseError> {
    let mut name = stream.word("a variable")?;
    if name == "generic" {
        stream.expect('(')?;
        name = stream.word("a variable")?;
        stream.expect(')')?;
    }
    let offset = if stream.accept('+') { stream.integer("an offset")? as i64 } else { 0 };
    Ok((name.to_owned(), offset))
}
