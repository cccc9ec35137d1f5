//! Reads what `ptxas` says.

use crate::ptx::Lines;

/// What `ptxas -v` reports of one entry function.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(crate) struct Report {
    pub(crate) registers: u32,
    pub(crate) static_shared: u32,
    pub(crate) spill_stores: u32,
    pub(crate) spill_loads: u32,
    pub(crate) stack: u32,
    pub(crate) notes: Vec<String>,
}

/// Reads the report of `kernel`, or `None` where the output holds none.
///
/// Notes are every line with a message code (`(C7510)`) and every warning; other functions' stack and spills count for the
/// kernel too, since it is the only entry point of its module.
pub(crate) fn parse(output: &str, kernel: &str) -> Option<Report> {
    let mut report = Report::default();
    let mut compiled = false;
    let mut registers = None;
    for line in output.lines() {
        if line.contains("Compiling entry function") {
            compiled |= line.contains(&format!("'{kernel}'"));
        } else if let Some(used) = line.split("Used ").nth(1).filter(|rest| rest.contains("registers")) {
            for part in used.split(", ") {
                let value = part.split(' ').next().and_then(|number| number.parse().ok());
                if part.ends_with("registers") {
                    registers = value;
                } else if part.ends_with("bytes smem") {
                    report.static_shared = value?;
                }
            }
        } else if line.contains("bytes stack frame") {
            for part in line.trim().split(", ") {
                let value: u32 = part.split(' ').next()?.parse().ok()?;
                if part.ends_with("stack frame") {
                    report.stack += value;
                } else if part.ends_with("spill stores") {
                    report.spill_stores += value;
                } else if part.ends_with("spill loads") {
                    report.spill_loads += value;
                }
            }
        } else if code(line).is_some() || line.contains("warning") {
            report.notes.push(line.trim().to_owned());
        }
    }
    report.registers = registers?;
    compiled.then_some(report)
}

/// The number of a message code: 7510 in `(C7510)`.
pub(crate) fn code(line: &str) -> Option<u32> {
    let digits = line.split("(C").nth(1)?.split(')').next()?;
    digits.parse().ok()
}

/// The messages of ptxas, each that names a line of PTX followed by the lines of Rust behind it.
pub(crate) fn with_source(messages: &str, ptx: &str) -> String {
    let lines = Lines::new(ptx);
    let mut out = String::new();
    for message in messages.lines() {
        out.push_str(message);
        out.push('\n');
        let number = message.split_once(", line ").and_then(|(_, rest)| rest.split(';').next()?.parse::<usize>().ok());
        let Some(index) = number.and_then(|number| number.checked_sub(1)).filter(|index| *index < lines.iter().count())
        else {
            continue;
        };
        for (depth, line) in lines.source(index).iter().enumerate() {
            out.push_str(if depth == 0 { "  at " } else { "  inlined at " });
            out.push_str(&format!("{line}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to the presence of Extern calls in the function 'gemm'
ptxas info    : 48 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for gemm
    128 bytes stack frame, 24 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers, 128 bytes cumulative stack size, 1024 bytes smem, 396 bytes cmem[0]
ptxas info    : Compile time = 913.480 ms
";

    #[test]
    fn every_figure_is_read() {
        let report = parse(OUTPUT, "gemm").unwrap();
        assert_eq!((report.registers, report.static_shared), (168, 1024));
        assert_eq!((report.stack, report.spill_stores, report.spill_loads), (128, 24, 36));
        assert_eq!(report.notes.len(), 1);
        assert_eq!(code(&report.notes[0]), Some(7510));
    }

    #[test]
    fn messages_are_followed_by_their_rust_lines() {
        let ptx = ".entry k()\n{\n.loc 1 4 2 // a.rs:4:2 @[ b.rs:9:1 ]\nnonsense;\n}\n.file 1 \"a.rs\"\n";
        let messages = "ptxas k.ptx, line 4; error   : Not a name of any known instruction\nptxas fatal   : aborted";
        let expected = "ptxas k.ptx, line 4; error   : Not a name of any known instruction\n  at a.rs:4\n  inlined at b.rs:9\nptxas fatal   : aborted\n";
        assert_eq!(with_source(messages, ptx), expected);
        assert_eq!(with_source("ptxas k.ptx, line 400; error : x", ptx), "ptxas k.ptx, line 400; error : x\n");
    }

    #[test]
    fn a_report_of_another_kernel_or_none_is_not_taken_for_ours() {
        assert_eq!(parse(OUTPUT, "gem"), None);
        assert_eq!(parse("", "gemm"), None);
        assert_eq!(parse("ptxas info    : Compiling entry function 'gemm' for 'sm_90a'", "gemm"), None);
    }
}
