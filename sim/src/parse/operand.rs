//! Instruction operands.

use super::ast::Operand;
use super::lexer::Token;
use super::scope::Scopes;
use super::stream::Stream;
use crate::error::ParseError;

/// Parses one operand; `scopes` tells registers from other names.
pub(crate) fn operand(stream: &mut Stream<'_>, scopes: &Scopes) -> Result<Operand, ParseError> {
    let first = primary(stream, scopes)?;
    if stream.accept('|') {
        let second = primary(stream, scopes)?;
        return Ok(Operand::Pair(Box::new(first), Box::new(second)));
    }
    Ok(first)
}

fn primary(stream: &mut Stream<'_>, scopes: &Scopes) -> Result<Operand, ParseError> {
    match stream.peek() {
        Some(Token::Mark('{')) => {
            stream.expect('{')?;
            Ok(Operand::Vector(list(stream, scopes, '}')?))
        }
        Some(Token::Mark('(')) => {
            stream.expect('(')?;
            Ok(Operand::List(list(stream, scopes, ')')?))
        }
        Some(Token::Mark('[')) => {
            stream.expect('[')?;
            address(stream, scopes)
        }
        Some(Token::Mark('!')) => {
            stream.expect('!')?;
            let name = stream.word("a predicate register")?;
            match scopes.resolve(name) {
                Some(register) => Ok(Operand::Not(register)),
                None => Err(ParseError::UnknownName { line: stream.line(), name: name.into() }),
            }
        }
        Some(Token::Mark('-')) => {
            stream.expect('-')?;
            match number(stream)? {
                Operand::Integer(value) => Ok(Operand::Integer(value.wrapping_neg())),
                Operand::Decimal(value) => Ok(Operand::Decimal(-value)),
                _ => Err(stream.unexpected("a decimal number after `-`")),
            }
        }
        Some(&Token::Word(name)) => {
            stream.word("a name")?;
            if name == "_" {
                return Ok(Operand::Sink);
            }
            if let Some(register) = scopes.resolve(name) {
                return Ok(Operand::Register(register));
            }
            let offset = offset(stream)?;
            Ok(Operand::Name(name.to_owned(), offset))
        }
        _ => number(stream),
    }
}

fn number(stream: &mut Stream<'_>) -> Result<Operand, ParseError> {
    let found = match stream.peek() {
        Some(&Token::Integer(value)) => Operand::Integer(value),
        Some(&Token::Single(bits)) => Operand::Single(bits),
        Some(&Token::Double(bits)) => Operand::Double(bits),
        Some(&Token::Decimal(value)) => Operand::Decimal(value),
        _ => return Err(stream.unexpected("an operand")),
    };
    stream.next("an operand")?;
    Ok(found)
}

fn list(stream: &mut Stream<'_>, scopes: &Scopes, end: char) -> Result<Vec<Operand>, ParseError> {
    let mut items = Vec::new();
    if stream.accept(end) {
        return Ok(items);
    }
    loop {
        items.push(operand(stream, scopes)?);
        if stream.accept(end) {
            return Ok(items);
        }
        stream.expect(',')?;
    }
}

/// `+ 8`, `- 8`, `+ -8` or nothing.
fn offset(stream: &mut Stream<'_>) -> Result<i64, ParseError> {
    let mut negative = false;
    let mut signed = false;
    loop {
        if stream.accept('+') {
            signed = true;
        } else if stream.accept('-') {
            signed = true;
            negative = !negative;
        } else {
            break;
        }
    }
    if !signed {
        return Ok(0);
    }
    let magnitude = stream.integer("an offset")? as i64;
    Ok(if negative { magnitude.wrapping_neg() } else { magnitude })
}

fn address(stream: &mut Stream<'_>, scopes: &Scopes) -> Result<Operand, ParseError> {
    let base = match primary(stream, scopes)? {
        Operand::Name(name, offset) => Operand::Address(Box::new(Operand::Name(name, 0)), offset),
        base @ (Operand::Register(_) | Operand::Integer(_)) => {
            let offset = offset(stream)?;
            Operand::Address(Box::new(base), offset)
        }
        _ => return Err(stream.unexpected("a register, a variable or an integer as address")),
    };
    if stream.accept(',') {
        stream.expect('{')?;
        let coordinates = list(stream, scopes, '}')?;
        stream.expect(']')?;
        return Ok(Operand::Tensor(Box::new(base), coordinates));
    }
    stream.expect(']')?;
    Ok(base)
}
