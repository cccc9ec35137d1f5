//! From an instruction of textual IR back to the Rust line it came from.

use crate::SourceLine;
use std::collections::HashMap;

/// The Rust line of an instruction, by its `!dbg` metadata.
pub(crate) fn source_line(module: &str, instruction: &str) -> Option<SourceLine> {
    let nodes: HashMap<&str, &str> =
        module.lines().filter(|line| line.starts_with('!')).filter_map(|line| line.split_once(" = ")).collect();
    let node = |text: &str, key: &str| field(text, key).and_then(|id| nodes.get(id).copied());
    let location = instruction.split("!dbg ").nth(1)?.split([',', ' ', '\n']).next()?;
    let location = nodes.get(location)?;
    let line = field(location, "line: ")?.parse().ok()?;
    let mut scope = node(location, "scope: ")?;
    while !scope.contains("file: ") {
        scope = node(scope, "scope: ")?;
    }
    let file = node(scope, "file: ")?;
    let name = file.split("filename: \"").nth(1)?.split('"').next()?;
    Some(SourceLine { file: name.to_owned(), line })
}

fn field<'a>(node: &'a str, key: &str) -> Option<&'a str> {
    node.split(key).nth(1)?.split([',', ')']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_chain_ends_at_a_file() {
        let module = r#"
!1 = !DILocation(line: 12, column: 5, scope: !2)
!2 = distinct !DILexicalBlock(scope: !3, line: 9)
!3 = distinct !DISubprogram(name: "f", scope: !9, file: !4, line: 8)
!4 = !DIFile(filename: "src/lib.rs", directory: "/x")
"#;
        let found = source_line(module, "  call void asm \"x\", \"\"(), !dbg !1, !srcloc !7");
        assert_eq!(found, Some(SourceLine { file: "src/lib.rs".into(), line: 12 }));
        assert_eq!(source_line(module, "  ret void"), None);
    }
}
