//! Tables of text for a terminal or a log.

use std::fmt;

/// Rows under a header, in columns as wide as their widest cell. Cells that are numbers are aligned to the right.
#[derive(Debug, Clone)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new<const N: usize>(header: [&str; N]) -> Self {
        Self { header: header.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    /// Appends a row; columns without a cell stay empty.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Whether a cell reads as a quantity: `12`, `-1.5e-3`, `3.2 s`, `71%`.
fn is_number(cell: &str) -> bool {
    let number = cell.split(' ').next().unwrap_or_default().trim_end_matches(['%', '×']);
    number.parse::<f64>().is_ok()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let columns = lines().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| lines().filter_map(|line| line.get(column)).map(|cell: &String| cell.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        for line in lines() {
            let mut text = String::new();
            for (cell, width) in line.iter().zip(&widths) {
                let numeric = self.rows.iter().any(|row| std::ptr::eq(row, line)) && is_number(cell);
                let gap = if text.is_empty() { "" } else { "  " };
                text += &if numeric { format!("{gap}{cell:>width$}") } else { format!("{gap}{cell:<width$}") };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_numbers_lean_right() {
        let mut table = Table::new(["kernel", "registers"]);
        table.row(["gemm".into(), "128".into()]);
        table.row(["a longer name".into(), "8".into()]);
        let expected = "kernel         registers\ngemm                 128\na longer name          8\n";
        assert_eq!(table.to_string(), expected);
    }
}
