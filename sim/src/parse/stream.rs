//! A cursor over tokens with the few expectations the grammar needs.

use super::lexer::{Spanned, Token};
use crate::error::ParseError;

/// Token cursor.
pub(crate) struct Stream<'a> {
    text: &'a str,
    tokens: Vec<Spanned<'a>>,
    at: usize,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(text: &'a str, tokens: Vec<Spanned<'a>>) -> Self {
        Self { text, tokens, at: 0 }
    }

    /// Position of the next token, for [`Self::text_since`].
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The text from the token at `position` up to the last one consumed, `;` excluded, runs of white space as one space.
    pub(crate) fn text_since(&self, position: usize) -> String {
        let tokens = &self.tokens[position..self.at];
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
            return String::new();
        };
        let text = self.text[first.start..last.end].trim_end_matches(';');
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at).map(|s| &s.token)
    }

    pub(crate) fn peek_second(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at + 1).map(|s| &s.token)
    }

    /// Line of the next token, or of the last one at the end.
    pub(crate) fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |s| s.line)
    }

    pub(crate) fn next(&mut self, expected: &'static str) -> Result<Token<'a>, ParseError> {
        let line = self.line();
        let token = self.tokens.get(self.at).ok_or(ParseError::UnexpectedEnd { line, expected })?;
        self.at += 1;
        Ok(token.token.clone())
    }

    /// Takes the last token back.
    pub(crate) fn step_back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Consumes `mark` if it is next.
    pub(crate) fn accept(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// Consumes the word `word` if it is next.
    pub(crate) fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if *w == word);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, mark: char) -> Result<(), ParseError> {
        if self.accept(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    pub(crate) fn word(&mut self, expected: &'static str) -> Result<&'a str, ParseError> {
        match self.peek() {
            Some(&Token::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    pub(crate) fn integer(&mut self, expected: &'static str) -> Result<u64, ParseError> {
        match self.peek() {
            Some(&Token::Integer(value)) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// An integer that fits 32 bits.
    pub(crate) fn integer32(&mut self, expected: &'static str) -> Result<u32, ParseError> {
        let line = self.line();
        let value = self.integer(expected)?;
        u32::try_from(value).map_err(|_| ParseError::Syntax {
            line,
            found: value.to_string(),
            expected: format!("{expected} below 2^32"),
        })
    }

    /// The error that names the next token.
    pub(crate) fn unexpected(&self, expected: &str) -> ParseError {
        let line = self.line();
        let found = match self.peek() {
            None => "the end of the text".into(),
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Mark(mark)) => format!("`{mark}`"),
            Some(Token::Text(text)) => format!("\"{text}\""),
            Some(other) => format!("{other:?}"),
        };
        ParseError::Syntax { line, found, expected: expected.into() }
    }
}
