//! A GEMM problem that passed its checks.

use super::{MatrixLayout, OperandLayout};
use crate::{ElementKind, Error, Operand, Order, Result};

/// Largest extent: kernels compute `origin + tile` in 32 bits.
const MAX_EXTENT: u64 = i32::MAX as u64;
/// Largest leading dimension in elements: with it, a tile's worth of rows past the last stays within 64 bits.
const MAX_LEADING_DIMENSION: u64 = 1 << 40;

/// Extents and storage of a GEMM, checked: every leading dimension covers its contiguous extent, and C and D
/// share one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmProblem {
    element: ElementKind,
    m: u32,
    n: u32,
    k: u32,
    /// A, B, C, D.
    operands: [OperandLayout; 4],
}

impl GemmProblem {
    pub(super) fn new(element: ElementKind, extents: [u64; 3], layouts: [MatrixLayout; 4]) -> Result<Self> {
        let [m, n, k] = extents;
        let (m, n, k) = (extent("m", m)?, extent("n", n)?, extent("k", k)?);
        let [a, b, c, d] = layouts;
        let operands = [
            operand(Operand::A, [m, k], a)?,
            operand(Operand::B, [k, n], b)?,
            operand(Operand::C, [m, n], c)?,
            operand(Operand::D, [m, n], d)?,
        ];
        if c.order != d.order {
            return Err(Error::OrderMismatch { c: c.order, d: d.order });
        }
        Ok(Self { element, m, n, k, operands })
    }

    /// Element type of all operands.
    #[must_use]
    pub const fn element(&self) -> ElementKind {
        self.element
    }

    /// Rows of A, C and D.
    #[must_use]
    pub const fn m(&self) -> u32 {
        self.m
    }

    /// Columns of B, C and D.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.n
    }

    /// Columns of A and rows of B.
    #[must_use]
    pub const fn k(&self) -> u32 {
        self.k
    }

    /// Storage of A.
    #[must_use]
    pub const fn a(&self) -> OperandLayout {
        self.operands[0]
    }

    /// Storage of B.
    #[must_use]
    pub const fn b(&self) -> OperandLayout {
        self.operands[1]
    }

    /// Storage of C.
    #[must_use]
    pub const fn c(&self) -> OperandLayout {
        self.operands[2]
    }

    /// Storage of D.
    #[must_use]
    pub const fn d(&self) -> OperandLayout {
        self.operands[3]
    }

    /// Whether D has no elements, so that there is nothing to do.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0
    }

    /// Floating-point operations of the product: 2·m·n·k.
    #[must_use]
    pub fn flops(&self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }

    /// The problem as kernels see it, with C and D row-major.
    pub(super) fn oriented(&self) -> Oriented {
        let [a, b, c, d] = self.operands;
        match d.order {
            Order::RowMajor => Oriented { element: self.element, exchanged: false, a, b, c, d },
            Order::ColumnMajor => Oriented {
                element: self.element,
                exchanged: true,
                a: b.transposed(),
                b: a.transposed(),
                c: c.transposed(),
                d: d.transposed(),
            },
        }
    }
}

/// A problem whose C and D are row-major. A column-major D = A·B is the row-major Dᵀ = Bᵀ·Aᵀ, so the factors
/// are exchanged and everything is read as its transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Oriented {
    pub(super) element: ElementKind,
    /// Whether the caller's A is the kernel's B.
    pub(super) exchanged: bool,
    pub(super) a: OperandLayout,
    pub(super) b: OperandLayout,
    pub(super) c: OperandLayout,
    pub(super) d: OperandLayout,
}

impl Oriented {
    /// What the caller calls the kernel's left and right factor.
    pub(super) const fn factor_names(&self) -> [Operand; 2] {
        if self.exchanged { [Operand::B, Operand::A] } else { [Operand::A, Operand::B] }
    }
}

fn extent(name: &'static str, actual: u64) -> Result<u32> {
    match u32::try_from(actual) {
        Ok(extent) if actual <= MAX_EXTENT => Ok(extent),
        _ => Err(Error::Dimension { name, maximum: MAX_EXTENT, actual }),
    }
}

fn operand(operand: Operand, [rows, columns]: [u32; 2], layout: MatrixLayout) -> Result<OperandLayout> {
    let order = layout.order;
    let mut checked = OperandLayout { rows, columns, order, leading_dimension: 0 };
    let required = u64::from(checked.contiguous());
    let actual = layout.leading_dimension.unwrap_or(required);
    if actual < required || actual > MAX_LEADING_DIMENSION {
        return Err(Error::LeadingDimension { operand, order, required, maximum: MAX_LEADING_DIMENSION, actual });
    }
    checked.leading_dimension = actual;
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use crate::{Error, Gemm, Operand, Order};
    use Order::{ColumnMajor, RowMajor};

    #[test]
    fn extents_beyond_32_bits_are_refused_by_name() {
        let huge = 1 << 31;
        for (gemm, expected) in [
            (Gemm::<f32>::new(huge, 1, 1), "m"),
            (Gemm::<f32>::new(1, huge, 1), "n"),
            (Gemm::<f32>::new(1, 1, u64::MAX), "k"),
        ] {
            let error = gemm.problem().unwrap_err();
            assert!(matches!(error, Error::Dimension { name, .. } if name == expected), "{error}");
        }
        assert!(Gemm::<f32>::new(huge - 1, 0, 0).problem().is_ok());
    }

    #[test]
    fn a_leading_dimension_below_the_contiguous_extent_is_refused_for_every_operand() {
        let gemm = || Gemm::<f32>::new(3, 5, 7);
        // Operand, contiguous extent, and the problem with that leading dimension.
        type Set = fn(Gemm<f32>, Order, u64) -> Gemm<f32>;
        let cases: [(Operand, [u64; 2], Set); 4] = [
            (Operand::A, [7, 3], |g, order, ld| g.a((order, ld))),
            (Operand::B, [5, 7], |g, order, ld| g.b((order, ld))),
            (Operand::C, [5, 3], |g, order, ld| g.d(order).c((order, ld))),
            (Operand::D, [5, 3], |g, order, ld| g.c(order).d((order, ld))),
        ];
        for (expected, extents, set) in cases {
            for (order, contiguous) in [RowMajor, ColumnMajor].into_iter().zip(extents) {
                assert!(set(gemm(), order, contiguous).problem().is_ok());
                match set(gemm(), order, contiguous - 1).problem() {
                    Err(Error::LeadingDimension { operand, order: o, required, actual, .. }) => {
                        assert_eq!((operand, o, required, actual), (expected, order, contiguous, contiguous - 1));
                    }
                    other => panic!("{expected} {order}: {other:?}"),
                }
                assert!(set(gemm(), order, u64::MAX).problem().is_err());
            }
        }
    }

    #[test]
    fn c_and_d_share_an_order_and_c_follows_d() {
        let error = Gemm::<f32>::new(2, 2, 2).c(ColumnMajor).problem().unwrap_err();
        assert_eq!(
            error.to_string(),
            "c is column-major and d is row-major, required is one order for both: transpose one of them"
        );
        let problem = Gemm::<f32>::new(2, 3, 4).d((ColumnMajor, 9)).problem().unwrap();
        assert_eq!(problem.c(), problem.d());
    }

    #[test]
    fn a_column_major_output_exchanges_the_factors() {
        let problem = Gemm::<f32>::new(2, 3, 4).a((ColumnMajor, 6)).d(ColumnMajor).problem().unwrap();
        let oriented = problem.oriented();
        assert!(oriented.exchanged);
        assert_eq!(oriented.factor_names(), [Operand::B, Operand::A]);
        assert_eq!((oriented.a.rows, oriented.a.columns, oriented.a.order), (3, 4, ColumnMajor));
        assert_eq!((oriented.b.rows, oriented.b.columns, oriented.b.order), (4, 2, RowMajor));
        assert_eq!((oriented.b.leading_dimension, oriented.d.leading_dimension), (6, 2));
        assert_eq!((oriented.d.rows, oriented.d.columns, oriented.d.order), (3, 2, RowMajor));
    }
}
