//! Finds what the lints are about: in annotated IR, in PTX, and in what `ptxas` reports.

use super::{Lint, LintError, SourceLine};
use crate::{
    Cubin,
    ir::{asm_without_convergent, source_lines},
    ptx::Lines,
    ptxas,
};

/// Inline assembly that reaches the optimiser without `convergent`.
pub(crate) fn assembly(kernel: &str, annotated: &str) -> Vec<LintError> {
    let calls = asm_without_convergent(annotated).into_iter();
    calls
        .map(|(function, call)| {
            let message = format!("inline assembly in `{function}` is not convergent: `{}`", call.trim());
            finding(Lint::AssemblyNotConvergent, kernel, message, source_lines(annotated, call))
        })
        .collect()
}

/// Local memory, calls of panics and of functions that are defined nowhere.
pub(crate) fn ptx(kernel: &str, ptx: &str) -> Vec<LintError> {
    let lines = Lines::new(ptx);
    let mut findings = Vec::new();
    let (mut depots, mut external) = (Vec::new(), Vec::new());
    let mut panics = false;
    let mut function = "";
    for (index, line) in lines.iter() {
        let code = line.trim_start();
        if let Some(name) = defined(code) {
            function = name;
        } else if let Some(bytes) = depot(code) {
            depots.push((index, function, bytes));
        } else if let Some(declaration) = code.strip_prefix(".extern .func") {
            external.push(declared(declaration));
        } else if let Some(callee) = callee(code).filter(|callee| is_panic(callee)) {
            panics = true;
            // What a panic does after it began is no second finding.
            if !is_panic(function) {
                let message = format!("a check can panic (`{callee}`): use unchecked or wrapping operations");
                findings.push(finding(Lint::Panic, kernel, message, lines.source(index)));
            }
        }
    }
    for (index, function, bytes) in depots {
        // Nor are the stack frames of core's own functions that format its message.
        if !(panics && is_core(function)) {
            let message = format!(
                "{bytes} bytes of local memory a thread: index arrays by constants only, and read a by-value parameter at run-time indices through its address"
            );
            findings.push(finding(Lint::LocalMemory, kernel, message, first_local_access(&lines, index)));
        }
    }
    for name in external {
        let calls = || lines.iter().find(|(_, line)| callee(line.trim_start()) == Some(name));
        let at = calls().map(|(call, _)| lines.source(call)).unwrap_or_default();
        if !is_panic(name) {
            findings.push(finding(Lint::ExternalFunction, kernel, format!("`{name}` is defined nowhere"), at));
        } else if !panics {
            findings.push(finding(Lint::Panic, kernel, format!("a check can panic (`{name}`)"), at));
        }
    }
    findings
}

/// Spills, stack frames and performance notes.
pub(crate) fn cubin(kernel: &str, cubin: &Cubin, ptx: &str) -> Vec<LintError> {
    let arch = cubin.arch;
    let found = |lint, message| finding(lint, kernel, message, Lines::new(ptx).entry());
    let mut findings = Vec::new();
    if cubin.spill_stores + cubin.spill_loads > 0 {
        findings.push(found(
            Lint::Spills,
            format!(
                "{} bytes of spill stores and {} of spill loads for {arch} at {} registers: hold fewer values a thread, or launch fewer threads",
                cubin.spill_stores, cubin.spill_loads, cubin.registers
            ),
        ));
    } else if cubin.stack > 0 && !ptx.contains(DEPOT) {
        findings.push(found(Lint::LocalMemory, format!("a stack frame of {} bytes a thread for {arch}", cubin.stack)));
    }
    for note in &cubin.notes {
        if ptxas::code(note).is_some_and(|code| (7500..7700).contains(&code)) {
            findings.push(found(Lint::Serialisation, format!("for {arch}, {note}")));
        }
    }
    findings
}

fn finding(lint: Lint, kernel: &str, message: String, at: Vec<SourceLine>) -> LintError {
    LintError { lint, kernel: kernel.to_owned(), message, at }
}

/// LLVM's name of a function's stack frame.
const DEPOT: &str = "__local_depot";

/// The size of a stack frame, from its declaration `.local .align 8 .b8 __local_depot0[64];`.
fn depot(code: &str) -> Option<&str> {
    code.strip_prefix(".local ")?.split_once(DEPOT)?.1.split(['[', ']']).nth(1)
}

/// Whether a function is one of core's panics or the handler that they call, by its mangled name. A kernel may well have the
/// word in its own name; core's are in its module `panicking`, or are called `…_fail`, `…_failed`.
fn is_panic(name: &str) -> bool {
    name.contains("4core9panicking")
        || name.contains("rust_begin_unwind")
        || (name.contains("4core") && name.contains("_fail"))
}

/// Whether a function is core's own, by its mangled name (`…4core…` for a path that begins with the crate `core`).
fn is_core(name: &str) -> bool {
    name.contains("4core") || is_panic(name)
}

/// The function whose definition begins on a line: `.visible .entry k(`, `.func  (.param .b32 func_retval0) f(`, `.func f(`.
fn defined(code: &str) -> Option<&str> {
    let (before, after) = code.split_once(".entry ").or_else(|| code.split_once(".func "))?;
    (!before.contains(".extern")).then(|| declared(after))
}

/// The function that a line of PTX calls, or the name alone: LLVM breaks a call over lines, `call.uni (retval0),` / `name,` / `(`.
fn callee(code: &str) -> Option<&str> {
    let code = code.strip_prefix("call.uni").or_else(|| code.strip_prefix("call ")).unwrap_or(code).trim_start();
    let code = match code.strip_prefix('(') {
        Some(result) => result.split_once("),")?.1.trim_start(),
        None => code,
    };
    let end = code.find([',', ';', ' ', '('])?;
    let identifier = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    (end > 0 && code[..end].bytes().all(identifier)).then_some(&code[..end])
}

/// The name in ` (.param .b32 func_retval0) name` or ` name`, with or without parameters behind it.
fn declared(declaration: &str) -> &str {
    let declaration = declaration.trim_start();
    let name = match declaration.strip_prefix('(') {
        Some(result) => result.split_once(')').map_or("", |(_, name)| name),
        None => declaration,
    };
    name.trim_start().split([' ', '(', ';', '\t']).next().unwrap_or("")
}

fn first_local_access(lines: &Lines<'_>, depot: usize) -> Vec<SourceLine> {
    let access = lines.iter().skip(depot).find(|(_, line)| {
        let code = line.trim_start();
        code.starts_with("st.local") || code.starts_with("ld.local") || code.contains("[%SP")
    });
    access.map_or_else(|| lines.entry(), |(index, _)| lines.source(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    #[test]
    fn calls_and_declarations_are_named() {
        for (code, name) in [
            ("call.uni (retval0), defined_nowhere, (param0);", Some("defined_nowhere")),
            ("call.uni (retval0), ", None),
            (
                "call.uni _RNvNtCs4core9panicking18panic_bounds_check, (param0, param1);",
                Some("_RNvNtCs4core9panicking18panic_bounds_check"),
            ),
            ("_ZN4core9panicking5panicE, ", Some("_ZN4core9panicking5panicE")),
            ("mov.u32 %r1, %tid.x;", None),
        ] {
            assert_eq!(callee(code), name, "{code}");
        }
        assert_eq!(declared(" (.param .b32 func_retval0) f"), "f");
        assert_eq!(declared(" f"), "f");
        assert_eq!(defined(".visible .entry k("), Some("k"));
        assert_eq!(defined(".func  (.param .b32 func_retval0) f("), Some("f"));
        assert_eq!(defined(".extern .func f"), None);
        assert_eq!(declared(" (.param .b32 r) f (.param .b32 a)"), "f");
    }

    #[test]
    fn panics_are_told_from_kernels_of_that_name() {
        assert!(is_panic("_RNvNtCsbNo_4core9panicking18panic_bounds_check"));
        assert!(is_panic("_RNvNtCsbNo_4core6option13unwrap_failed"));
        assert!(is_panic("_RNvNtNtCsbNo_4core5slice5index16slice_index_fail"));
        assert!(!is_panic("gemm_without_panic") && !is_panic("fail_safe"));
    }

    #[test]
    fn a_panic_that_is_only_declared_is_found() {
        let found = ptx("k", ".extern .func _RNvNtCs4core9panicking5panic\n(\n)\n.noreturn;\n");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].lint, Lint::Panic);
    }

    #[test]
    fn performance_notes_and_hidden_stack_frames_are_found() {
        let report = |stack, note: &str| Cubin {
            arch: Arch::Sm90a,
            path: "k.cubin".into(),
            registers: 168,
            static_shared: 0,
            spill_stores: 0,
            spill_loads: 0,
            stack,
            notes: vec![note.to_owned()],
        };
        let lints =
            |stack, note| cubin("k", &report(stack, note), "").iter().map(|found| found.lint).collect::<Vec<_>>();
        assert_eq!(lints(0, "ptxas info : (C7510) Potential Performance Loss: wgmma"), [Lint::Serialisation]);
        assert_eq!(lints(16, "ptxas warning : something else"), [Lint::LocalMemory]);
        assert_eq!(lints(0, "ptxas info : (C4000) something else"), []);
    }
}
