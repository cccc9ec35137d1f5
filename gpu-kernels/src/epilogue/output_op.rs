//! Element-wise output ops.

use crate::numeric::Element;

/// The element-wise end of a kernel: D = op(accumulator, C).
///
/// An op is pure arithmetic on one element; the epilogue around it owns memory and order. It is
/// written once, compiles for host and device, and its parameters travel in the kernel's parameter
/// block.
pub trait OutputOp: 'static {
    /// Element type of the source C and the output D.
    type Output: Element;
    /// Scalars, by value.
    type Params: bytemuck::NoUninit;

    /// Whether C is read. When false, C may be absent, or hold NaN.
    fn needs_source(params: &Self::Params) -> bool;

    /// The output for one accumulator, and the source when [`needs_source`](Self::needs_source). The epilogue rounds it to
    /// [`Output`](Self::Output).
    fn apply(params: &Self::Params, accumulator: f32, source: Option<f32>) -> f32;
}

/// D = α·(A·B) + β·C, computed in f32 and rounded once. With β = 0, C is not read (BLAS's rule:
/// NaN in C does not reach D).
#[derive(Clone, Copy, Debug)]
pub struct LinearCombination<T>(core::marker::PhantomData<T>);

/// Scalars of [`LinearCombination`].
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::NoUninit)]
#[repr(C)]
pub struct LinearCombinationParams {
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of the source.
    pub beta: f32,
}

impl<T: Element> OutputOp for LinearCombination<T> {
    type Output = T;
    type Params = LinearCombinationParams;

    #[inline(always)]
    fn needs_source(params: &Self::Params) -> bool {
        params.beta != 0.0
    }

    #[inline(always)]
    fn apply(params: &Self::Params, accumulator: f32, source: Option<f32>) -> f32 {
        let product = params.alpha * accumulator;
        match source {
            Some(c) => crate::numeric::fma(params.beta, c, product),
            None => product,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::f16;

    #[test]
    fn a_source_is_needed_only_when_beta_is_not_zero() {
        let params = LinearCombinationParams { alpha: 2.0, beta: 0.0 };
        assert!(!LinearCombination::<f16>::needs_source(&params));
        assert_eq!(LinearCombination::<f16>::apply(&params, 1.5, None), 3.0);
        let params = LinearCombinationParams { alpha: 2.0, beta: -1.0 };
        assert!(LinearCombination::<f32>::needs_source(&params));
        assert_eq!(LinearCombination::<f32>::apply(&params, 1.5, Some(4.0)), -1.0);
    }
}
