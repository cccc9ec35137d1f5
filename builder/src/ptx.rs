//! What is done to PTX, and read out of it, as text.

use crate::SourceLine;
use std::collections::HashMap;

/// Aligns what may hold tensor maps: a by-value parameter of 128 bytes or more that is aligned to 16 becomes aligned to 64.
///
/// TMA wants its descriptor on a 64-byte boundary and rustc cannot pass a by-value parameter aligned beyond 16.
pub(crate) fn align_tensor_maps(ptx: &str) -> String {
    let mut out = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let bytes = line.trim_start().strip_prefix(".param .align 16 .b8 ").and_then(|declaration| {
            let (_, length) = declaration.trim_end().trim_end_matches(',').strip_suffix(']')?.rsplit_once('[')?;
            length.parse::<u32>().ok()
        });
        if bytes.is_some_and(|bytes| bytes >= 128) {
            out.push_str(&line.replacen(".align 16", ".align 64", 1));
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// PTX without comments, which are most of it: LLVM writes after each `.loc` through which calls it was inlined.
pub(crate) fn without_comments(ptx: &str) -> String {
    let mut out = String::with_capacity(ptx.len() / 2);
    for line in ptx.lines() {
        // No string of PTX holds two slashes but a file name, and those stand on lines of their own.
        let code =
            if line.trim_start().starts_with(".file") { line } else { line.split("//").next().unwrap_or_default() };
        let code = code.trim_end();
        if !code.is_empty() {
            out.push_str(code);
            out.push('\n');
        }
    }
    out
}

/// Maps lines of PTX to lines of Rust through its `.file` and `.loc` directives.
pub(crate) struct Lines<'a> {
    ptx: Vec<&'a str>,
    files: HashMap<&'a str, &'a str>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(ptx: &'a str) -> Self {
        let ptx: Vec<&str> = ptx.lines().collect();
        let files = ptx
            .iter()
            .filter_map(|line| {
                let (number, name) = line.trim().strip_prefix(".file")?.trim().split_once(char::is_whitespace)?;
                Some((number, name.trim().split('"').nth(1)?))
            })
            .collect();
        Lines { ptx, files }
    }

    /// The lines of PTX with their index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.ptx.iter().copied().enumerate()
    }

    /// The Rust lines of the instruction at `index`: its own, then those of the calls that it was inlined through.
    /// Files are named in full where a directive names them, and as rustc was given them where only a comment does.
    pub(crate) fn source(&self, index: usize) -> Vec<SourceLine> {
        let mut found = Vec::new();
        for line in self.ptx[..=index].iter().rev() {
            let line = line.trim();
            if let Some(directive) = line.strip_prefix(".loc") {
                found.extend(self.directive(directive));
                break;
            }
            // Another function's lines are not this one's.
            if line.starts_with(".func") || line.contains(".entry") {
                break;
            }
        }
        found
    }

    /// The first Rust line of the entry point.
    pub(crate) fn entry(&self) -> Vec<SourceLine> {
        let entry = self.ptx.iter().position(|line| line.contains(".entry")).unwrap_or(0);
        let first = self.ptx[entry..].iter().position(|line| line.trim_start().starts_with(".loc"));
        first.map(|offset| self.source(entry + offset)).unwrap_or_default()
    }

    /// `1 41 5 // src/lib.rs:41:5 @[ src/a.rs:9:1 @[ src/b.rs:3:7 ] ]`: LLVM writes the calls into a comment.
    fn directive(&self, text: &str) -> Vec<SourceLine> {
        let mut words = text.split_whitespace();
        let own = words.next().and_then(|file| self.files.get(file)).and_then(|file| {
            let line = words.next()?.parse().ok()?;
            Some(SourceLine { file: (*file).to_owned(), line })
        });
        let callers = text.split("@[ ").skip(1).filter_map(|place| {
            let mut parts = place.trim_end_matches([' ', ']']).rsplitn(3, ':');
            let line = parts.nth(1)?.parse().ok()?;
            Some(SourceLine { file: parts.next()?.to_owned(), line })
        });
        own.into_iter().chain(callers).filter(|found| found.line > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tensor_maps_are_aligned_anew() {
        let ptx = "\t.param .align 16 .b8 k_param_0[128],\n\t.param .align 16 .b8 k_param_1[64],\n\
                   \t.param .align 4 .b8 k_param_2[128],\n\t.param .align 16 .b8 k_param_3[432]\n\
                   .global .align 16 .b8 table[128];\n";
        let aligned = align_tensor_maps(ptx);
        assert_eq!(aligned.matches(".align 64").count(), 2);
        assert!(aligned.contains(".align 64 .b8 k_param_0[128],") && aligned.contains(".align 64 .b8 k_param_3[432]"));
        assert_eq!(align_tensor_maps(&aligned), aligned);
    }

    #[test]
    fn comments_go_and_code_stays() {
        let ptx =
            "// header\n\t.loc\t1 30 5 // core/mem.rs:30:5 @[ src/lib.rs:9:2 ]\n\tret;\n\n\t.file 1 \"//x/core\"\n";
        assert_eq!(without_comments(ptx), "\t.loc\t1 30 5\n\tret;\n\t.file 1 \"//x/core\"\n");
    }

    #[test]
    fn an_instruction_has_its_line_and_its_callers() {
        let ptx = "\t.loc 2 7 1\n.visible .entry k(\n)\n{\n\t.loc 2 7 1\n\tmov.u32 %r1, 0;\n\
                   \t.loc\t1 30 5 // core/mem.rs:30:5 @[ src/deep er.rs:4:1 @[ src/lib.rs:9:2 ] ]\n\tst.local.u32 [%r1], 0;\n}\n\
                   \t.file 1 \"/x/core\"\n\t.file 2 \"/x/src/lib.rs\"\n";
        let lines = Lines::new(ptx);
        let line = |file: &str, line| SourceLine { file: file.into(), line };
        assert_eq!(lines.source(7), [line("/x/core", 30), line("src/deep er.rs", 4), line("src/lib.rs", 9)]);
        assert_eq!(lines.source(5), [line("/x/src/lib.rs", 7)]);
        assert_eq!(lines.entry(), [line("/x/src/lib.rs", 7)]);
        assert_eq!(lines.source(3), []);
    }
}
