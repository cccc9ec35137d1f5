//! How the programs say that something failed.

use anyhow::Error;

/// An error and its causes in one line, each stated once: some errors repeat their cause in their own text.
#[must_use]
pub fn describe(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_stated_once() {
        let error = Error::msg("no such file").context("cannot read x: no such file").context("step `fmt`");
        assert_eq!(describe(&error), "step `fmt`: cannot read x: no such file");
    }
}
