//! Textual LLVM IR: taking a linked module apart into one small module a kernel, and annotating it.
//!
//! The work is done on text because it is the only stable interface that LLVM's command-line tools give, and rustup's
//! `llvm-tools` has `llvm-link`, `llvm-dis`, `opt` and `llc` but no `llvm-extract`.

mod annotate;
mod location;
mod refs;

pub(crate) use annotate::{Annotation, annotate, asm_without_convergent};
pub(crate) use location::source_lines;

use refs::{Reference, references};
use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
    hash::Hash,
};

/// A module as `llvm-dis` prints it, by top-level entity.
#[derive(Debug, Default)]
pub(crate) struct Module<'a> {
    /// Target, type and comdat lines: every slice needs them or does not mind them.
    header: Vec<&'a str>,
    assembly: Vec<&'a str>,
    symbols: HashMap<&'a str, &'a str>,
    kernels: BTreeSet<&'a str>,
    attributes: HashMap<u32, &'a str>,
    named_metadata: Vec<&'a str>,
    compile_units: BTreeSet<u32>,
    metadata: HashMap<u32, &'a str>,
}

impl<'a> Module<'a> {
    /// Splits the text of a module.
    pub(crate) fn parse(text: &'a str) -> Self {
        let mut module = Module::default();
        let mut rest = text;
        while let Some(line) = rest.lines().next() {
            let mut length = line.len();
            if line.starts_with("define ") {
                length = rest.find("\n}").map_or(rest.len(), |end| end + 2);
                let name = symbol_of(line);
                if let Some(name) = name {
                    module.symbols.insert(name, &rest[..length]);
                    if line.split('@').next().is_some_and(|head| head.contains(" ptx_kernel ")) {
                        module.kernels.insert(name);
                    }
                }
            } else {
                module.top_level_line(line);
            }
            rest = rest[length..].trim_start_matches(['\n', '\r']);
        }
        module
    }

    fn top_level_line(&mut self, line: &'a str) {
        if line.starts_with("declare ") || line.starts_with('@') {
            if let Some(name) = symbol_of(line) {
                self.symbols.insert(name, line);
            }
        } else if line.starts_with("module asm ") {
            // Every crate that includes a global_asm! declaration brings it along; PTX wants an extern declared once.
            if !(line.contains(".extern ") && self.assembly.contains(&line)) {
                self.assembly.push(line);
            }
        } else if let Some(number) = numbered(line, "attributes #") {
            self.attributes.insert(number, line);
        } else if let Some(number) = numbered(line, "!") {
            self.metadata.insert(number, line);
        } else if line.starts_with("!llvm.dbg.cu = ") {
            references(line, |reference, _| {
                if let Reference::Metadata(unit) = reference {
                    self.compile_units.insert(unit);
                }
            });
        } else if line.starts_with("!llvm.module.flags") {
            self.named_metadata.push(line);
        } else if line.starts_with("target ") || line.starts_with('%') || line.starts_with('$') {
            self.header.push(line);
        }
    }

    /// The entry points, in alphabetical order.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &'a str> {
        self.kernels.iter().copied()
    }

    /// The symbol `<prefix><name>` and its definition.
    pub(crate) fn symbol_after(&self, prefix: &str, name: &str) -> Option<(&'a str, &'a str)> {
        self.symbols.get_key_value(format!("{prefix}{name}").as_str()).map(|(symbol, text)| (*symbol, *text))
    }

    /// The module that holds `roots` and what they reach, and nothing else.
    ///
    /// Attribute groups, metadata and private constants are numbered anew in the order of their use, so that a change elsewhere in the crate
    /// leaves the text of this slice alone, and so does the order in which libraries were linked.
    pub(crate) fn slice(&self, roots: &[&'a str]) -> String {
        let mut reached: Vec<&'a str> = Vec::new();
        let mut seen: BTreeSet<&'a str> = BTreeSet::new();
        let mut queue: Vec<&'a str> = roots.iter().rev().copied().collect();
        while let Some(name) = queue.pop() {
            let Some(text) = self.symbols.get(name).copied().filter(|_| seen.insert(name)) else { continue };
            reached.push(text);
            references(text, |reference, _| {
                if let Reference::Symbol(callee) = reference {
                    queue.push(callee);
                }
            });
        }
        let mut out = String::new();
        for line in self.header.iter().chain(&self.assembly) {
            let _ = writeln!(out, "{line}");
        }
        let mut numbers = Renumbering::default();
        for text in reached.iter().chain(&self.named_metadata) {
            numbers.copy(text, &mut out);
            out.push('\n');
        }
        for (new, old) in std::mem::take(&mut numbers.attributes).order.into_iter().enumerate() {
            if let Some((_, body)) = self.attributes.get(&old).and_then(|text| text.split_once(" = ")) {
                let _ = writeln!(out, "attributes #{new} = {body}");
            }
        }
        let mut new = 0;
        while let Some(old) = numbers.metadata.order.get(new).copied() {
            if let Some((_, body)) = self.metadata.get(&old).and_then(|text| text.split_once(" = ")) {
                let _ = write!(out, "!{new} = ");
                let (before, after) = without_checksum(body);
                numbers.copy(before, &mut out);
                numbers.copy(after, &mut out);
                out.push('\n');
            }
            new += 1;
        }
        let units = numbers.metadata.order.iter().enumerate().filter(|(_, old)| self.compile_units.contains(old));
        let units: Vec<String> = units.map(|(new, _)| format!("!{new}")).collect();
        if !units.is_empty() {
            let _ = writeln!(out, "!llvm.dbg.cu = !{{{}}}", units.join(", "));
        }
        out
    }
}

/// Old numbers in the order in which they were first met; the position is the new number.
#[derive(Default)]
struct Numbers<Old> {
    order: Vec<Old>,
    new: HashMap<Old, usize>,
}

impl<Old: Copy + Eq + Hash> Numbers<Old> {
    fn renumber(&mut self, old: Old) -> usize {
        *self.new.entry(old).or_insert_with(|| {
            self.order.push(old);
            self.order.len() - 1
        })
    }
}

/// How rustc names private constants; a hash of all that the crate holds follows.
const ANONYMOUS: &str = "anon.";

#[derive(Default)]
struct Renumbering<'a> {
    attributes: Numbers<u32>,
    metadata: Numbers<u32>,
    constants: Numbers<&'a str>,
}

impl<'a> Renumbering<'a> {
    /// Copies text with its references renumbered, and without `!srcloc`: positions in the crate's source that serve LLVM's
    /// messages only, and that a change to any earlier file moves.
    fn copy(&mut self, text: &'a str, out: &mut String) {
        let mut copied = 0;
        references(text, |reference, bytes| {
            if let Some(before) = text[copied..bytes.start].strip_suffix(", !srcloc ") {
                out.push_str(before);
                copied = bytes.end;
                return;
            }
            let (sigil, number) = match reference {
                Reference::Symbol(name) if name.starts_with(ANONYMOUS) => ("@anon.", self.constants.renumber(name)),
                Reference::Symbol(_) => return,
                Reference::Metadata(old) => ("!", self.metadata.renumber(old)),
                Reference::Attributes(old) => ("#", self.attributes.renumber(old)),
            };
            out.push_str(&text[copied..bytes.start]);
            let _ = write!(out, "{sigil}{number}");
            copied = bytes.end;
        });
        out.push_str(&text[copied..]);
    }
}

/// What stands before and after the checksum of a `DIFile`, which says nothing of the lines that a kernel uses.
fn without_checksum(node: &str) -> (&str, &str) {
    node.split_once(", checksumkind: ").map_or((node, ""), |(before, after)| {
        let value = after.splitn(3, '"');
        (before, { value }.nth(2).unwrap_or(""))
    })
}

/// The first symbol of a line: what a `define`, `declare` or `@name =` line introduces.
fn symbol_of(line: &str) -> Option<&str> {
    let mut name = None;
    references(line, |reference, _| {
        if let (None, Reference::Symbol(symbol)) = (name, reference) {
            name = Some(symbol);
        }
    });
    name
}

/// `N` of a line `<prefix>N = …`.
fn numbered(line: &str, prefix: &str) -> Option<u32> {
    line.strip_prefix(prefix)?.split_once(" = ")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"; ModuleID = 'x'
source_filename = "x"
target triple = "nvptx64-nvidia-cuda"

module asm ".extern .shared .align 1024 .b8 s[];"
module asm ".extern .shared .align 1024 .b8 s[];"
@falchion_description_a = constant [4 x i8] c"\01\00\00\00", align 4
@table = private constant [1 x ptr] [ptr @helper]
@anon.5f3a.7 = private constant [1 x i8] c"x"
@llvm.used = appending global [1 x ptr] [ptr @falchion_description_a], section "llvm.metadata"

define ptx_kernel void @a(ptr %0) unnamed_addr #0 !dbg !6 {
  call void @used(ptr @table), !dbg !9, !srcloc !10
  ret void
}

define ptx_kernel void @b() #1 {
  ret void
}

define internal void @used(ptr %0) #1 {
  ret void
}

define void @helper() #0 {
  store ptr @anon.5f3a.7, ptr null
  ret void
}

declare void @elsewhere()

attributes #0 = { nounwind }
attributes #1 = { cold }

!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!10, !7}
!0 = !{i32 7, !"PIC Level", i32 2}
!6 = distinct !DISubprogram(name: "a", unit: !7)
!7 = !{!11}
!11 = !DIFile(filename: "f.rs", directory: "", checksumkind: CSK_MD5, checksum: "7c03", source: "x")
!9 = !DILocation(line: 3, scope: !6)
!10 = !{!"of b"}
"#;

    #[test]
    fn a_slice_holds_what_the_kernel_reaches_and_nothing_else() {
        let module = Module::parse(MODULE);
        assert_eq!(module.kernels().collect::<Vec<_>>(), ["a", "b"]);
        let slice = module.slice(&["a", "falchion_description_a"]);
        for present in ["@a(ptr %0)", "@table =", "@used(", "@helper()", "@falchion_description_a =", "of b\"}"] {
            assert_eq!(slice.contains(present), present != "of b\"}", "{present} in\n{slice}");
        }
        for absent in ["@b()", "@llvm.used", "@elsewhere"] {
            assert!(!slice.contains(absent), "{absent} in\n{slice}");
        }
        assert_eq!(slice.matches("module asm").count(), 1);
        assert_eq!(module.slice(&["b"]).matches("define").count(), 1);
    }

    #[test]
    fn a_slice_is_numbered_by_use() {
        let slice = Module::parse(MODULE).slice(&["a"]);
        assert!(slice.contains("define ptx_kernel void @a(ptr %0) unnamed_addr #0 !dbg !0 {"), "{slice}");
        assert!(slice.contains("!0 = distinct !DISubprogram(name: \"a\", unit: !3)"), "{slice}");
        assert!(slice.contains("!llvm.module.flags = !{!2}"), "{slice}");
        assert!(slice.contains("call void @used(ptr @table), !dbg !1\n"), "{slice}");
        assert!(slice.contains("= !DIFile(filename: \"f.rs\", directory: \"\", source: \"x\")"), "{slice}");
        assert!(slice.contains("!1 = !DILocation(line: 3, scope: !0)"), "{slice}");
        assert!(slice.contains("attributes #1 = { cold }"), "{slice}");
        assert!(slice.contains("store ptr @anon.0,") && slice.contains("\n@anon.0 = private"), "{slice}");
        assert!(slice.contains("!llvm.dbg.cu = !{!3}"), "only the units that are reached\n{slice}");
    }
}
