//! What a plan is run with.

use crate::Slice;

/// The operands and scalars of one run of a [`GemmPlan`](crate::GemmPlan): D = α·A·B + β·C.
///
/// The fields are public: a struct literal names all six, [`new`](Self::new) the three that have no default.
#[derive(Clone, Copy, Debug)]
pub struct GemmArguments<'a, T> {
    /// A.
    pub a: Slice<'a, T>,
    /// B.
    pub b: Slice<'a, T>,
    /// C; may be absent when β = 0, and may be D.
    pub c: Option<Slice<'a, T>>,
    /// D, written. Shares no element with A, B or C, unless C is D.
    pub d: Slice<'a, T>,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of C. When it is 0, C is not read: NaN in C does not reach D.
    pub beta: f32,
}

impl<'a, T> GemmArguments<'a, T> {
    /// D = A·B.
    #[must_use]
    pub fn new(a: impl Into<Slice<'a, T>>, b: impl Into<Slice<'a, T>>, d: impl Into<Slice<'a, T>>) -> Self {
        Self { a: a.into(), b: b.into(), c: None, d: d.into(), alpha: 1.0, beta: 0.0 }
    }

    /// The same with another α.
    #[must_use]
    pub fn alpha(mut self, alpha: f32) -> Self {
        self.alpha = alpha;
        self
    }

    /// The same with another β.
    #[must_use]
    pub fn beta(mut self, beta: f32) -> Self {
        self.beta = beta;
        self
    }

    /// The same with C.
    #[must_use]
    pub fn c(mut self, c: impl Into<Slice<'a, T>>) -> Self {
        self.c = Some(c.into());
        self
    }

    /// The same with D as C: D = α·A·B + β·D.
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.c = Some(self.d);
        self
    }
}
