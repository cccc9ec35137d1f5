//! The arguments of the commands that run kernels: `xtask` checks them before it builds, `falchion` acts on them.

use clap::{Args, Subcommand, ValueEnum};
use std::{fmt, path::PathBuf, str::FromStr};

/// Which device runs the kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// The first GPU where there is one, else the simulator.
    #[default]
    Auto,
    /// The first GPU.
    Cuda,
    /// The PTX simulator.
    Sim,
}

impl BackendChoice {
    /// The environment variable that states the choice, for the test suite as well.
    pub const VARIABLE: &'static str = "FALCHION_BACKEND";
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Sim => "sim",
        })
    }
}

/// Element types of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Dtype {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

/// Storage orders of A and B in BLAS's letters for column-major routines: `t` is row-major, `n` column-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum OperandOrders {
    /// A row-major, B column-major: both contiguous along k.
    Tn,
    /// Both column-major.
    Nn,
    /// Both row-major.
    Tt,
    /// A column-major, B row-major: both contiguous across k.
    Nt,
}

impl OperandOrders {
    /// Whether A, then whether B, is row-major.
    #[must_use]
    pub fn row_major(self) -> [bool; 2] {
        match self {
            Self::Tn => [true, false],
            Self::Nn => [false, false],
            Self::Tt => [true, true],
            Self::Nt => [false, true],
        }
    }
}

impl fmt::Display for OperandOrders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tn => "tn",
            Self::Nn => "nn",
            Self::Tt => "tt",
            Self::Nt => "nt",
        })
    }
}

/// The extents of a GEMM: `4096` for a cube, or `M,N,K`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Rows of D.
    pub m: usize,
    /// Columns of D.
    pub n: usize,
    /// Length of the sums.
    pub k: usize,
}

impl Extents {
    /// m = n = k.
    #[must_use]
    pub const fn cube(side: usize) -> Self {
        Self { m: side, n: side, k: side }
    }

    /// Multiplications and additions: 2 m n k.
    #[must_use]
    pub fn flops(self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

impl FromStr for Extents {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<usize>, _> = text.split([',', 'x', '×']).map(str::parse).collect();
        match numbers.as_deref() {
            Ok([side]) => Ok(Self::cube(*side)),
            Ok([m, n, k]) => Ok(Self { m: *m, n: *n, k: *k }),
            _ => Err(format!("`{text}` names no extents: expected M,N,K, or one number for all three")),
        }
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}x{}", self.m, self.n, self.k))
    }
}

/// Arguments of `demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArguments {
    /// Which device runs the kernels
    #[arg(long, value_enum, default_value_t, env = BackendChoice::VARIABLE)]
    pub backend: BackendChoice,
}

/// Arguments of `gemm`.
#[derive(Args, Clone, Debug)]
pub struct GemmArguments {
    /// The left factor, m × k: a NumPy file of f32, f16, or (with --dtype bf16) 16-bit voids
    #[arg(long, value_name = "A.npy")]
    pub a: PathBuf,
    /// The right factor, k × n, of A's type
    #[arg(long, value_name = "B.npy")]
    pub b: PathBuf,
    /// The source, m × n, of A's type
    #[arg(long, value_name = "C.npy")]
    pub c: Option<PathBuf>,
    /// Where the result goes, m × n, of A's type
    #[arg(short, long, value_name = "D.npy")]
    pub output: PathBuf,
    /// Factor of the product
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub alpha: f32,
    /// Factor of the source: 1 with --c, else 0
    #[arg(long, requires = "c", allow_negative_numbers = true)]
    pub beta: Option<f32>,
    /// What the elements are, where the files leave it open: NumPy has no name for bf16
    #[arg(long, value_enum)]
    pub dtype: Option<Dtype>,
    /// Which device runs the kernel
    #[arg(long, value_enum, default_value_t, env = BackendChoice::VARIABLE)]
    pub backend: BackendChoice,
}

/// What `bench` measures.
#[derive(Subcommand, Clone, Debug)]
pub enum BenchCommand {
    /// GEMM kernels on a GPU, side by side with cuBLASLt
    Gemm(BenchGemmArguments),
    /// The simulator's speed: seconds for a 256³ GEMM
    Sim,
}

/// Arguments of `bench gemm`.
#[derive(Args, Clone, Debug)]
pub struct BenchGemmArguments {
    /// A suite of problems
    #[arg(long, default_value = "gemm-foundation")]
    pub suite: String,
    /// Only these element types; with --mnk the types to measure
    #[arg(long, value_enum, value_delimiter = ',')]
    pub dtype: Vec<Dtype>,
    /// Only these operand orders; with --mnk the orders to measure (tn)
    #[arg(long, value_enum, value_delimiter = ',')]
    pub orders: Vec<OperandOrders>,
    /// These problems instead of the suite's: `4096`, or `M,N,K`
    #[arg(long, value_name = "M,N,K")]
    pub mnk: Vec<Extents>,
    /// Measures every kernel that computes the problem, not the planned one alone
    #[arg(long)]
    pub search: bool,
    /// Rounds of four runs each (ours, cuBLASLt, cuBLASLt, ours); at least 7
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(7..))]
    pub rounds: u32,
    /// Seconds after which a run counts as hung
    #[arg(long, default_value_t = 60)]
    pub timeout: u64,
    /// Also writes the result as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_one_number_or_three() {
        assert_eq!("64".parse(), Ok(Extents::cube(64)));
        assert_eq!("1,2,3".parse(), Ok(Extents { m: 1, n: 2, k: 3 }));
        assert_eq!(Extents { m: 1, n: 2, k: 3 }.to_string().parse(), Ok(Extents { m: 1, n: 2, k: 3 }));
        for nonsense in ["", "1,2", "1,2,3,4", "-1", "a,b,c"] {
            assert!(nonsense.parse::<Extents>().is_err(), "{nonsense}");
        }
    }

    #[test]
    fn operand_orders_follow_blas() {
        assert_eq!(OperandOrders::Tn.row_major(), [true, false]);
        assert_eq!(OperandOrders::Nt.row_major(), [false, true]);
    }
}
