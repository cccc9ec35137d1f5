//! Functions: parameters, performance directives, statements.

use super::ast::{Function, Instruction, Location, Operand, Unit, Variable, VariableSpace, Width};
use super::lexer::Token;
use super::module::{space, variable};
use super::operand::operand;
use super::scope::Scopes;
use super::stream::Stream;
use crate::error::ParseError;

/// Parses what follows `.entry` or `.func`; declarations without a body leave nothing.
pub(crate) fn function(stream: &mut Stream<'_>, unit: &mut Unit, is_entry: bool) -> Result<(), ParseError> {
    let mut function = Function { is_entry, ..Function::default() };
    if stream.peek() == Some(&Token::Mark('(')) {
        function.results = parameters(stream)?;
    }
    function.name = stream.word("a function name")?.to_owned();
    if stream.peek() == Some(&Token::Mark('(')) {
        function.parameters = parameters(stream)?;
    }
    performance(stream, &mut function)?;
    if stream.accept(';') {
        return Ok(());
    }
    stream.expect('{')?;
    body(stream, unit, &mut function)?;
    unit.functions.push(function);
    Ok(())
}

fn parameters(stream: &mut Stream<'_>) -> Result<Vec<Variable>, ParseError> {
    stream.expect('(')?;
    let mut parameters = Vec::new();
    if stream.accept(')') {
        return Ok(parameters);
    }
    loop {
        if !stream.accept_word(".param") {
            return Err(stream.unexpected("`.param`"));
        }
        parameters.push(variable(stream, VariableSpace::Parameter)?);
        if stream.accept(')') {
            return Ok(parameters);
        }
        stream.expect(',')?;
    }
}

/// `.maxntid 128, 1, 1` and its relatives. Those that only steer register allocation are read and dropped.
fn performance(stream: &mut Stream<'_>, function: &mut Function) -> Result<(), ParseError> {
    while let Some(&Token::Word(word)) = stream.peek() {
        let line = stream.line();
        stream.word("a directive")?;
        match word {
            ".maxntid" | ".reqntid" => {
                function.max_threads = Some((extents(stream)?, word == ".reqntid"));
            }
            ".maxnreg" => function.max_registers = Some(stream.integer32("a register count")?),
            ".minnctapersm" | ".maxnctapersm" | ".maxclusterrank" => {
                stream.integer("a count")?;
            }
            ".reqnctapercluster" => {
                let cluster = extents(stream)?;
                if cluster.contains(&0) || cluster.iter().map(|&e| u64::from(e)).product::<u64>() > 16 {
                    return Err(ParseError::Unsupported {
                        line,
                        what: format!("a cluster of {} × {} × {} blocks", cluster[0], cluster[1], cluster[2]),
                    });
                }
                function.cluster = Some(cluster);
            }
            ".explicitcluster" | ".noreturn" => {}
            ".pragma" => {
                stream.next("a pragma")?;
                stream.expect(';')?;
            }
            other => return Err(ParseError::UnknownDirective { line, directive: other.into() }),
        }
    }
    Ok(())
}

fn extents(stream: &mut Stream<'_>) -> Result<[u32; 3], ParseError> {
    let mut extents = [1; 3];
    extents[0] = stream.integer32("an extent")?;
    for extent in &mut extents[1..] {
        if stream.accept(',') {
            *extent = stream.integer32("an extent")?;
        }
    }
    Ok(extents)
}

fn body(stream: &mut Stream<'_>, unit: &mut Unit, function: &mut Function) -> Result<(), ParseError> {
    let mut scopes = Scopes::default();
    scopes.enter();
    let mut location = None;
    loop {
        let line = stream.line();
        match stream.peek() {
            Some(Token::Mark('{')) => {
                stream.expect('{')?;
                scopes.enter();
            }
            Some(Token::Mark('}')) => {
                stream.expect('}')?;
                if !scopes.leave() {
                    break;
                }
            }
            Some(Token::Mark(';')) => stream.expect(';')?,
            Some(Token::Mark('@')) => instruction(stream, function, &scopes, location)?,
            Some(&Token::Word(word)) if word.starts_with('.') => {
                stream.word("a directive")?;
                match word {
                    ".reg" => register(stream, &mut scopes)?,
                    ".loc" => location = Some(loc(stream)?),
                    ".pragma" => {
                        stream.next("a pragma")?;
                        stream.expect(';')?;
                    }
                    _ => {
                        let space = space(word).ok_or(ParseError::UnknownDirective { line, directive: word.into() })?;
                        let variable = variable(stream, space)?;
                        stream.expect(';')?;
                        match space {
                            VariableSpace::Local | VariableSpace::Parameter => own(function, variable),
                            _ => unit.variables.push(variable),
                        }
                    }
                }
            }
            Some(&Token::Word(word)) if stream.peek_second() == Some(&Token::Mark(':')) => {
                stream.word("a label")?;
                stream.expect(':')?;
                label(stream, function, &scopes, word, line)?;
            }
            _ => instruction(stream, function, &scopes, location)?,
        }
    }
    function.registers = scopes.registers;
    function.scopes = scopes.parents;
    Ok(())
}

/// Keeps a variable of the thread. Call sequences reuse names one after the other: one place, large enough for all.
fn own(function: &mut Function, variable: Variable) {
    match function.variables.iter_mut().find(|v| v.name == variable.name) {
        Some(known) => {
            known.size = known.size.max(variable.size);
            known.align = known.align.max(variable.align);
        }
        None => function.variables.push(variable),
    }
}

fn label(
    stream: &mut Stream<'_>,
    function: &mut Function,
    scopes: &Scopes,
    name: &str,
    line: u32,
) -> Result<(), ParseError> {
    if stream.accept_word(".branchtargets") {
        let mut targets = vec![stream.word("a label")?.to_owned()];
        while stream.accept(',') {
            targets.push(stream.word("a label")?.to_owned());
        }
        stream.expect(';')?;
        function.branch_targets.insert(name.to_owned(), targets);
        return Ok(());
    }
    if matches!(stream.peek(), Some(Token::Word(".callprototype" | ".calltargets"))) {
        return Err(ParseError::Unsupported { line, what: "an indirect call".into() });
    }
    let key = (scopes.current(), name.to_owned());
    if function.labels.insert(key, function.instructions.len()).is_some() {
        return Err(ParseError::DuplicateLabel { line, label: name.into() });
    }
    Ok(())
}

fn register(stream: &mut Stream<'_>, scopes: &mut Scopes) -> Result<(), ParseError> {
    let line = stream.line();
    let word = stream.word("a register type")?;
    let width = match word {
        ".pred" => Width::Predicate,
        ".b8" | ".u8" | ".s8" => Width::B8,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => Width::B16,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => Width::B32,
        ".b64" | ".u64" | ".s64" | ".f64" => Width::B64,
        ".b128" => Width::B128,
        other => return Err(ParseError::UnknownDirective { line, directive: other.into() }),
    };
    loop {
        let name = stream.word("a register name")?;
        if stream.accept('<') {
            let count = stream.integer32("a register count")?;
            scopes.declare_range(name, count, width);
            stream.expect('>')?;
        } else {
            scopes.declare(name, width);
        }
        if stream.accept(';') {
            return Ok(());
        }
        stream.expect(',')?;
    }
}

/// `.loc file line column [, function_name label, inlined_at file line column]`
fn loc(stream: &mut Stream<'_>) -> Result<Location, ParseError> {
    let file = stream.integer32("a file index")?;
    let line = stream.integer32("a line")?;
    stream.integer("a column")?;
    while stream.accept(',') {
        match stream.word("`function_name` or `inlined_at`")? {
            "function_name" => {
                stream.word("a label")?;
                if stream.accept('+') {
                    stream.integer("an offset")?;
                }
            }
            "inlined_at" => {
                for _ in 0..3 {
                    stream.integer("a position")?;
                }
            }
            _ => return Err(stream.unexpected("`function_name` or `inlined_at`")),
        }
    }
    Ok(Location { file, line })
}

fn instruction(
    stream: &mut Stream<'_>,
    function: &mut Function,
    scopes: &Scopes,
    location: Option<Location>,
) -> Result<(), ParseError> {
    let line = stream.line();
    let start = stream.position();
    let guard = if stream.accept('@') {
        let negated = stream.accept('!');
        let name = stream.word("a predicate register")?;
        let register = scopes.resolve(name).ok_or(ParseError::UnknownName { line, name: name.into() })?;
        Some((register, negated))
    } else {
        None
    };
    let opcode = stream.word("an instruction")?.to_owned();
    let mut operands: Vec<Operand> = Vec::new();
    if !stream.accept(';') {
        loop {
            operands.push(operand(stream, scopes)?);
            if stream.accept(';') {
                break;
            }
            stream.expect(',')?;
        }
    }
    // A location of line 0 means the compiler knows none.
    let location = location.filter(|l| l.line > 0);
    let scope = scopes.current();
    let text = stream.text_since(start);
    function.instructions.push(Instruction { line, location, guard, text, opcode, operands, scope });
    Ok(())
}
