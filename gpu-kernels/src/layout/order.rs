//! The storage orders of a matrix operand.

/// Storage order of a matrix as a value: which of its two dimensions is contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Order {
    /// Rows are contiguous: entry (i, j) is at `i·ld + j`. BLAS calls such an operand transposed.
    RowMajor = 0,
    /// Columns are contiguous: entry (i, j) is at `i + j·ld`. BLAS's native order.
    ColumnMajor = 1,
}

impl Order {
    /// The order with rows and columns exchanged: the order of the same memory read as the transpose.
    #[must_use]
    pub const fn transposed(self) -> Self {
        match self {
            Self::RowMajor => Self::ColumnMajor,
            Self::ColumnMajor => Self::RowMajor,
        }
    }

    /// The order whose discriminant is `code`.
    #[must_use]
    pub const fn from_code(code: u32) -> Option<Self> {
        match code {
            0 => Some(Self::RowMajor),
            1 => Some(Self::ColumnMajor),
            _ => None,
        }
    }

    /// CUTLASS's letter in kernel names: `t` for row-major, `n` for column-major.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::RowMajor => 't',
            Self::ColumnMajor => 'n',
        }
    }
}

impl core::fmt::Display for Order {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::RowMajor => "row-major",
            Self::ColumnMajor => "column-major",
        })
    }
}

/// [`Order`] as a type, for kernels that are compiled for one order.
pub trait StorageOrder: 'static {
    /// The value this type stands for.
    const ORDER: Order;
}

/// Rows are contiguous.
#[derive(Clone, Copy, Debug)]
pub struct RowMajor;
/// Columns are contiguous.
#[derive(Clone, Copy, Debug)]
pub struct ColumnMajor;

impl StorageOrder for RowMajor {
    const ORDER: Order = Order::RowMajor;
}
impl StorageOrder for ColumnMajor {
    const ORDER: Order = Order::ColumnMajor;
}

/// The contiguous dimension of a GEMM operand, seen as an MN × K matrix.
///
/// A is M × K and B is K × N; both are read as (M or N) × K, so that the four operand layouts of a
/// GEMM are two cases for each operand, written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// K is contiguous: A row-major, B column-major.
    K,
    /// M (of A) or N (of B) is contiguous: A column-major, B row-major.
    Mn,
}

impl Major {
    /// The contiguous dimension of A (M × K) stored in `order`.
    #[must_use]
    pub const fn of_a(order: Order) -> Self {
        match order {
            Order::RowMajor => Self::K,
            Order::ColumnMajor => Self::Mn,
        }
    }

    /// The contiguous dimension of B (K × N) stored in `order`.
    #[must_use]
    pub const fn of_b(order: Order) -> Self {
        Self::of_a(order.transposed())
    }
}
