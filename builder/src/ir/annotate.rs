//! What LLVM must be told about a kernel that rustc cannot express.

use super::refs::end_of_literal;
use crate::{Arch, Description};
use std::{collections::BTreeSet, fmt::Write as _};

/// What to write into a kernel's module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Annotation<'a> {
    /// The entry point.
    pub(crate) kernel: &'a str,
    /// What the kernel is compiled for; replaces the `target-cpu` that rustc was given for the whole crate.
    pub(crate) arch: Arch,
    /// Launch bounds and cluster shape.
    pub(crate) description: Option<&'a Description>,
    /// Whether inline assembly is made convergent. Only the test that shows why it must be turns this off.
    pub(crate) convergent: bool,
}

/// Rewrites the textual IR of one kernel's module.
///
/// - Every inline-asm call site becomes `convergent nounwind`. `asm!` has no such option, and without it LLVM duplicates
///   barriers into divergent branches. Every function that is defined becomes `convergent` for the same reason, so that calls
///   to it are too until it is inlined; LLVM takes the attribute off again where a function holds nothing convergent.
/// - The kernel's definition gets its launch bounds (`nvvm.maxntid`, `nvvm.minctasm`) and cluster shape (`nvvm.cluster_dim`).
/// - Every `target-cpu` becomes the kernel's architecture: LLVM does not inline across different ones.
pub(crate) fn annotate(module: &str, annotation: &Annotation<'_>) -> String {
    let mut out = String::with_capacity(module.len() + module.len() / 16);
    for line in module.lines() {
        if line.starts_with("attributes #") {
            out.push_str(&with_target_cpu(line, annotation.arch));
        } else if line.starts_with("define ") {
            match end_of_parameters(line) {
                Some((name, end)) => {
                    out.push_str(&line[..end]);
                    out.push_str(&definition_attributes(name, annotation));
                    out.push_str(&line[end..]);
                }
                None => out.push_str(line),
            }
        } else if let Some(end) = end_of_asm_call(line).filter(|_| annotation.convergent) {
            out.push_str(&line[..end]);
            out.push_str(" convergent nounwind");
            out.push_str(&line[end..]);
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

fn definition_attributes(name: &str, annotation: &Annotation<'_>) -> String {
    let mut attributes = String::new();
    if annotation.convergent {
        attributes.push_str(" convergent");
    }
    if let Some(description) = annotation.description.filter(|_| name == annotation.kernel) {
        let _ = write!(attributes, " \"nvvm.maxntid\"=\"{}\"", description.threads);
        if description.minimum_blocks > 0 {
            let _ = write!(attributes, " \"nvvm.minctasm\"=\"{}\"", description.minimum_blocks);
        }
        if description.cluster != [1, 1, 1] {
            let [x, y, z] = description.cluster;
            let _ = write!(attributes, " \"nvvm.cluster_dim\"=\"{x},{y},{z}\"");
        }
    }
    attributes
}

/// Replaces the value of `"target-cpu"` and drops `"target-features"`, which names the PTX version of another target.
fn with_target_cpu(line: &str, arch: Arch) -> String {
    const CPU: &str = "\"target-cpu\"=\"";
    const FEATURES: &str = " \"target-features\"=\"";
    let mut line = line.to_owned();
    if let Some(start) = line.find(CPU).map(|at| at + CPU.len()) {
        let length = line[start..].find('"').unwrap_or(0);
        line.replace_range(start..start + length, arch.name());
    }
    if let Some(start) = line.find(FEATURES) {
        let value = start + FEATURES.len();
        let end = value + line[value..].find('"').map_or(0, |quote| quote + 1);
        line.replace_range(start..end, "");
    }
    line
}

/// The name that a `define` line introduces and where function attributes may follow: after the parameters and what says
/// whether the address matters.
fn end_of_parameters(line: &str) -> Option<(&str, usize)> {
    let at = unquoted(line, '@')?;
    let quoted = line[at + 1..].starts_with('"');
    let (name, open) = if quoted {
        let end = end_of_literal(line.as_bytes(), at + 1);
        (&line[at + 2..end - 1], end)
    } else {
        let open = at + line[at..].find('(')?;
        (&line[at + 1..open], open)
    };
    let mut end = closing_parenthesis(line, open)? + 1;
    for word in [" unnamed_addr", " local_unnamed_addr"] {
        if line[end..].starts_with(word) {
            end += word.len();
        }
    }
    Some((name, end))
}

/// Just past the arguments of an inline-asm call, or `None` where the line is something else.
fn end_of_asm_call(line: &str) -> Option<usize> {
    let asm = asm_keyword(line)?;
    let bytes = line.as_bytes();
    let template = asm + line[asm..].find('"')?;
    let after_template = end_of_literal(bytes, template);
    let constraints = after_template + line[after_template..].find('"')?;
    let after_constraints = end_of_literal(bytes, constraints);
    let open = after_constraints + line[after_constraints..].find('(')?;
    Some(closing_parenthesis(line, open)? + 1)
}

/// Where the `asm` of a call stands; instructions are indented, `module asm` and globals are not.
fn asm_keyword(line: &str) -> Option<usize> {
    if !line.starts_with(' ') {
        return None;
    }
    let head = &line[..unquoted(line, '"')?];
    head.find(" asm ")
}

fn unquoted(line: &str, wanted: char) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == wanted as u8 {
            return Some(at);
        }
        at = if bytes[at] == b'"' { end_of_literal(bytes, at) } else { at + 1 };
    }
    None
}

/// The parenthesis that closes the one at `open`, literals skipped.
fn closing_parenthesis(line: &str, open: usize) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut depth = 0_usize;
    let mut at = open;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = end_of_literal(bytes, at);
                continue;
            }
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Every inline-asm call site that is not `convergent`: the function it stands in and its line of IR.
///
/// This is the check on [`annotate`], and it reads the text in another way: a line that holds the word `asm` once its
/// literals are gone must hold the word `convergent` too, or name an attribute group that does. So it holds for LLVM's own
/// output as well.
pub(crate) fn asm_without_convergent(module: &str) -> Vec<(String, &str)> {
    let groups: BTreeSet<&str> = module
        .lines()
        .filter_map(|line| line.strip_prefix("attributes ")?.split_once(" = "))
        .filter(|(_, attributes)| attributes.split(' ').any(|attribute| attribute == "convergent"))
        .map(|(group, _)| group)
        .collect();
    let mut found = Vec::new();
    let mut function = "";
    for line in module.lines() {
        if line.starts_with("define ") {
            function = end_of_parameters(line).map_or(line, |(name, _)| name);
        } else if line.starts_with(' ') && line.contains("asm") {
            let bare: String = line.split('"').step_by(2).collect::<Vec<_>>().join(" ");
            let has = |word: &str| bare.split([' ', ',']).any(|part| part == word);
            let by_group = || bare.split([' ', ',']).any(|part| groups.contains(part));
            if has("asm") && !has("convergent") && !by_group() {
                found.push((function.to_owned(), line));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::tests::words;

    fn plain(convergent: bool) -> Annotation<'static> {
        Annotation { kernel: "k", arch: Arch::Sm90a, description: None, convergent }
    }

    fn annotated(line: &str) -> String {
        annotate(line, &plain(true)).trim_end_matches('\n').to_owned()
    }

    #[test]
    fn every_form_of_asm_call_becomes_convergent() {
        for (line, expected) in [
            (
                r#"  call void asm sideeffect alignstack "bar.sync 0;", "~{memory}"(), !dbg !65, !srcloc !66"#,
                r#"  call void asm sideeffect alignstack "bar.sync 0;", "~{memory}"() convergent nounwind, !dbg !65, !srcloc !66"#,
            ),
            (
                r#"  %2 = call i32 asm "mov.u32 $0, %laneid;", "=r"() #9, !srcloc !6"#,
                r#"  %2 = call i32 asm "mov.u32 $0, %laneid;", "=r"() convergent nounwind #9, !srcloc !6"#,
            ),
            (
                r#"  %7 = tail call { i32, i32 } asm sideeffect "{ call (x), f; }", "=r,=r,r"(i32 bitcast (float 1.0 to i32), ptr @"a)b") #4"#,
                r#"  %7 = tail call { i32, i32 } asm sideeffect "{ call (x), f; }", "=r,=r,r"(i32 bitcast (float 1.0 to i32), ptr @"a)b") convergent nounwind #4"#,
            ),
        ] {
            assert_eq!(annotated(line), expected);
            assert!(asm_without_convergent(expected).is_empty());
            assert_eq!(asm_without_convergent(line).len(), 1);
        }
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        for line in [
            r#"module asm ".extern .shared .b8 x[];""#,
            r#"  call void @asm(ptr @x), !dbg !3"#,
            r#"  store i8 1, ptr @" asm ""#,
            r#"@s = constant [5 x i8] c" asm ""#,
            "",
        ] {
            assert_eq!(annotated(line), line);
            assert!(asm_without_convergent(line).is_empty());
        }
    }

    #[test]
    fn the_lint_names_the_function() {
        let module = "define void @f(i32 %0) {\n  call void asm sideeffect \"x;\", \"\"()\n}\n";
        assert_eq!(asm_without_convergent(module)[0].0, "f");
        assert!(asm_without_convergent(&annotate(module, &plain(true))).is_empty());
        assert_eq!(asm_without_convergent(&annotate(module, &plain(false))).len(), 1);
        let grouped = |group| {
            format!(
                "define void @f() #0 {{\n  call void asm \"x #1\", \"\"() {group}, !dbg !3\n}}\nattributes #0 = {{ nounwind }}\nattributes #1 = {{ convergent nounwind }}\n"
            )
        };
        assert_eq!(asm_without_convergent(&grouped("#0")).len(), 1);
        assert!(asm_without_convergent(&grouped("#1")).is_empty());
    }

    #[test]
    fn definitions_get_bounds_on_the_kernel_alone() {
        let description = Description::from_words(&words(90, 384, [2, 1, 1])).unwrap();
        let annotation = Annotation { description: Some(&description), ..plain(true) };
        let module = "define ptx_kernel void @k(ptr byval([4 x i32]) align 4 %0) unnamed_addr #0 !dbg !6 {\n\
                      define internal void @\"k(2)\"(i32 %0) #1 {\n";
        let expected = "define ptx_kernel void @k(ptr byval([4 x i32]) align 4 %0) unnamed_addr convergent \
                        \"nvvm.maxntid\"=\"384\" \"nvvm.minctasm\"=\"1\" \"nvvm.cluster_dim\"=\"2,1,1\" #0 !dbg !6 {\n\
                        define internal void @\"k(2)\"(i32 %0) convergent #1 {\n";
        assert_eq!(annotate(module, &annotation), expected);
    }

    #[test]
    fn the_target_becomes_the_kernels() {
        assert_eq!(
            annotated(r#"attributes #0 = { nounwind "target-cpu"="sm_80" "target-features"="+ptx70" "x"="y" }"#),
            r#"attributes #0 = { nounwind "target-cpu"="sm_90a" "x"="y" }"#
        );
    }
}
