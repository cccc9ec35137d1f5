//! PTX text to syntax tree: lexer, operands with resolved registers, statements, module.
//!
//! Registers are resolved here, because PTX scopes them by braces (inline assembly opens such scopes);
//! everything an instruction means is left to `decode` and `isa`.

pub(crate) mod ast;
mod function;
mod lexer;
mod module;
mod operand;
mod scope;
mod stream;

pub(crate) use module::parse;
