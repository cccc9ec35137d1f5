//! From an instruction of textual IR back to the Rust line it came from.

use crate::SourceLine;
use std::{collections::HashMap, path::Path};

/// The Rust lines of an instruction, by its `!dbg` metadata: its own, then those of the calls that it was inlined through.
pub(crate) fn source_lines(module: &str, instruction: &str) -> Vec<SourceLine> {
    let nodes: HashMap<&str, &str> =
        module.lines().filter(|line| line.starts_with('!')).filter_map(|line| line.split_once(" = ")).collect();
    let mut found = Vec::new();
    let mut location = instruction
        .split("!dbg ")
        .nth(1)
        .and_then(|rest| rest.split([',', ' ', '\n']).next())
        .and_then(|id| nodes.get(id));
    while let Some(node) = location {
        found.extend(source_line(&nodes, node));
        location = field(node, "inlinedAt: ").and_then(|id| nodes.get(id));
    }
    found
}

fn source_line(nodes: &HashMap<&str, &str>, location: &str) -> Option<SourceLine> {
    let node = |text: &str, key: &str| field(text, key).and_then(|id| nodes.get(id).copied());
    let line = field(location, "line: ")?.parse().ok()?;
    let mut scope = node(location, "scope: ")?;
    while !scope.contains(" file: ") {
        scope = node(scope, "scope: ")?;
    }
    let file = node(scope, " file: ")?;
    let quoted = |key: &str| file.split(key).nth(1)?.split('"').next();
    let name = Path::new(quoted("directory: \"").unwrap_or_default()).join(quoted("filename: \"")?);
    Some(SourceLine { file: name.to_string_lossy().into_owned(), line })
}

fn field<'a>(node: &'a str, key: &str) -> Option<&'a str> {
    node.split(key).nth(1)?.split([',', ')']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_chain_ends_at_a_file_and_callers_follow() {
        let module = r#"
!1 = !DILocation(line: 12, column: 5, scope: !2, inlinedAt: !5)
!2 = distinct !DILexicalBlock(scope: !3, line: 9)
!3 = distinct !DISubprogram(name: "f", scope: !9, file: !4, line: 8)
!4 = !DIFile(filename: "src/lib.rs", directory: "/x")
!5 = distinct !DILocation(line: 40, column: 5, scope: !6)
!6 = distinct !DISubprogram(name: "k", scope: !9, file: !7, line: 8)
!7 = !DIFile(filename: "/y/k.rs", directory: "")
"#;
        let line = |file: &str, line| SourceLine { file: file.into(), line };
        let found = source_lines(module, "  call void asm \"x\", \"\"(), !dbg !1, !srcloc !7");
        assert_eq!(found, [line("/x/src/lib.rs", 12), line("/y/k.rs", 40)]);
        assert_eq!(source_lines(module, "  ret void"), []);
    }
}
