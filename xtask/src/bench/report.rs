//! Results as a table and as JSON.

use super::suite::Case;
use crate::table::Table;
use anyhow::{Context, Result};
use serde::Serialize;
use std::{
    fmt, fs,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// What the management library says of the time in which kernels were measured.
#[derive(Debug, Default)]
pub struct Reading {
    /// The driver's version.
    pub driver: Option<String>,
    /// Median clock of the multiprocessors.
    pub clock_mhz: Option<f64>,
    /// Median power.
    pub power_w: Option<f64>,
}

/// What `docs/bench/SUITE.json` holds.
#[derive(Serialize)]
pub struct Report {
    suite: String,
    device: String,
    driver: Option<String>,
    cuda: Option<String>,
    date: String,
    clock_mhz: Option<f64>,
    power_w: Option<f64>,
    command: String,
    rows: Vec<Row>,
    /// Floating-point operations of each row's problem.
    #[serde(skip)]
    flops: Vec<f64>,
}

/// One kernel on one problem. Times are medians in microseconds.
#[derive(Serialize)]
pub struct Row {
    op: &'static str,
    dtype: String,
    problem: String,
    kernel: String,
    us: f64,
    #[serde(rename = "ref")]
    reference: String,
    ref_us: f64,
    /// `ref_us / us`: above 1 we are faster.
    ratio: f64,
    /// (max − min) / median of our times.
    spread: f64,
    /// The same of the reference's.
    #[serde(skip)]
    reference_spread: f64,
}

impl Row {
    /// From the times of every round: ours, and the reference's.
    #[must_use]
    pub fn new(case: &Case, kernel: &str, reference: &str, times: [Vec<f64>; 2]) -> Self {
        let [ours, theirs] = times.map(Statistics::of);
        Self {
            op: "gemm",
            dtype: case.dtype.to_string(),
            problem: case.problem(),
            kernel: kernel.to_owned(),
            us: rounded(ours.median),
            reference: reference.to_owned(),
            ref_us: rounded(theirs.median),
            ratio: rounded(theirs.median / ours.median),
            spread: rounded(ours.spread),
            reference_spread: theirs.spread,
        }
    }
}

/// Three decimals: more would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:.1} us, cuBLASLt {:.1} us, ratio {:.3}", self.kernel, self.us, self.ref_us, self.ratio)
    }
}

struct Statistics {
    median: f64,
    spread: f64,
}

impl Statistics {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (Some(&smallest), Some(&largest)) = (values.first(), values.last()) else {
            return Self { median: f64::NAN, spread: f64::NAN };
        };
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
        Self { median, spread: (largest - smallest) / median }
    }
}

impl Report {
    /// An empty report of a suite on a device whose driver supports `cuda`, dated now.
    #[must_use]
    pub fn new(suite: &str, device: &str, cuda: Option<String>) -> Self {
        // Folders say where programs and files lay, not what was run.
        let words: Vec<String> =
            std::env::args().map(|word| word.rsplit('/').next().unwrap_or_default().to_owned()).collect();
        Self {
            suite: suite.to_owned(),
            device: device.to_owned(),
            driver: None,
            cuda,
            date: date(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()),
            clock_mhz: None,
            power_w: None,
            command: words.join(" "),
            rows: Vec::new(),
            flops: Vec::new(),
        }
    }

    /// Appends a row; `flops` are the operations of its problem.
    pub fn push(&mut self, row: Row, flops: f64) {
        self.rows.push(row);
        self.flops.push(flops);
    }

    /// States driver, clock and power.
    pub fn add(&mut self, reading: Reading) {
        self.driver = reading.driver;
        self.clock_mhz = reading.clock_mhz;
        self.power_w = reading.power_w;
    }

    /// Writes the JSON.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).context("the report is no JSON")?;
        fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }

    /// The rows, and what holds for all of them.
    #[must_use]
    pub fn table(&self) -> String {
        let mut table =
            Table::new(["type", "problem", "kernel", "us", "spread", "TFLOP/s", "cuBLASLt us", "spread", "ratio"]);
        for (row, flops) in self.rows.iter().zip(&self.flops) {
            table.row([
                row.dtype.clone(),
                row.problem.clone(),
                row.kernel.clone(),
                format!("{:.2}", row.us),
                format!("{:.1}%", 100.0 * row.spread),
                format!("{:.1}", flops / row.us / 1e6),
                format!("{:.2}", row.ref_us),
                format!("{:.1}%", 100.0 * row.reference_spread),
                format!("{:.3}", row.ratio),
            ]);
        }
        let unknown = || "unknown".to_owned();
        let number = |value: Option<f64>| value.map_or_else(unknown, |value| format!("{value:.0}"));
        format!(
            "{table}geometric mean of the ratios {:.3}; clock {} MHz, power {} W, driver {}, CUDA {}, {}\n",
            self.geometric_mean(),
            number(self.clock_mhz),
            number(self.power_w),
            self.driver.clone().unwrap_or_else(unknown),
            self.cuda.clone().unwrap_or_else(unknown),
            self.date,
        )
    }

    fn geometric_mean(&self) -> f64 {
        (self.rows.iter().map(|row| row.ratio.ln()).sum::<f64>() / self.rows.len() as f64).exp()
    }
}

/// `2026-11-21T06:30:00Z` from seconds since 1970 (Hinnant, "chrono-compatible low-level date algorithms").
fn date(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", time / 3600, time / 60 % 60, time % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(1_795_242_645), "2026-11-21T06:30:45Z");
    }

    #[test]
    fn medians_and_spreads_are_robust_to_order() {
        let odd = Statistics::of(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.median, odd.spread), (2.0, 1.0));
        assert_eq!(Statistics::of(vec![4.0, 1.0, 2.0, 3.0]).median, 2.5);
    }

    #[test]
    fn a_row_has_the_agreed_keys() {
        use super::super::suite::Choice;
        use crate::arguments::{Dtype, Extents, OperandOrders};
        let case =
            Case { dtype: Dtype::F16, orders: OperandOrders::Tn, extents: Extents::cube(8), choice: Choice::All };
        let row = Row::new(&case, "k", "cuBLASLt 13.1", [vec![2.0, 2.0, 2.0], vec![1.0, 1.0, 1.0]]);
        let json = serde_json::to_value(&row).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        let expected = ["dtype", "kernel", "op", "problem", "ratio", "ref", "ref_us", "spread", "us"];
        assert_eq!(keys, expected);
        assert_eq!((json["ratio"].as_f64(), json["problem"].as_str()), (Some(0.5), Some("tn 8x8x8")));
    }
}
