//! One GEMM with everything that can vary, and its check.

use crate::{Guarded, Random};
use falchion::bytemuck::Pod;
use falchion::reference::{self, Comparison};
use falchion::{Device, Element, Error, Gemm, GemmArguments, MatrixLayout, Order};

/// What the operands hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values {
    /// Integers −2 … 2: every sum is exact in the accumulator, and D must be right to the last bit.
    Integers,
    /// Uniform in [−1, 1): D must lie within the bound of [`reference::Accumulation`].
    Reals,
}

/// A GEMM.
#[derive(Debug, Clone)]
pub struct GemmCase {
    /// m, n, k.
    pub extents: [u32; 3],
    /// Storage of A, of B, and of C and D.
    pub orders: [Order; 3],
    /// Elements between rows (or columns) of A, B, C and D.
    pub padding: [u32; 4],
    /// Elements by which A, B, C and D start after an aligned address.
    pub offsets: [u32; 4],
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of C.
    pub beta: f32,
    /// Whether D is also C.
    pub in_place: bool,
    /// What A, B and C hold.
    pub values: Values,
    /// Where their values begin.
    pub seed: u64,
    /// The kernel, or the plan's choice.
    pub kernel: Option<&'static str>,
}

impl GemmCase {
    /// m × n × k, packed, aligned, row-major, α = 1 and β = 0, integers.
    #[must_use]
    pub fn new(m: u32, n: u32, k: u32) -> Self {
        Self {
            extents: [m, n, k],
            orders: [Order::RowMajor; 3],
            padding: [0; 4],
            offsets: [0; 4],
            alpha: 1.0,
            beta: 0.0,
            in_place: false,
            values: Values::Integers,
            seed: 1,
            kernel: None,
        }
    }

    /// Runs the case and compares with the reference. C holds NaN when β = 0, D holds NaN before, and nothing outside D may
    /// change.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check<T: Element + Pod>(&self, device: &Device) -> Result<(), String> {
        self.run::<T>(device).map_err(|wrong| format!("{wrong}\nin {self:?}"))
    }

    fn run<T: Element + Pod>(&self, device: &Device) -> Result<(), String> {
        let [m, n, k] = self.extents;
        let [order_a, order_b, order_d] = self.orders;
        let mut random = Random::new(self.seed);
        let value = |random: &mut Random| {
            T::from_f32(match self.values {
                Values::Integers => random.integer(2),
                Values::Reals => random.real(),
            })
        };
        let matrix = |index: usize, shape, order, entry: &mut dyn FnMut() -> T| {
            Guarded::new(device, shape, order, self.padding[index], self.offsets[index], entry)
        };
        let a = matrix(0, [m, k], order_a, &mut || value(&mut random));
        let b = matrix(1, [k, n], order_b, &mut || value(&mut random));
        let c_matters = self.beta != 0.0;
        let mut source = || if c_matters { value(&mut random) } else { Guarded::<T>::poison() };
        let c = matrix(2, [m, n], order_d, &mut source);
        let d = matrix(3, [m, n], order_d, &mut || if self.in_place { source() } else { Guarded::<T>::poison() });

        let strided = |order, matrix: &Guarded<T>| MatrixLayout::strided(order, matrix.leading_dimension());
        let c_or_d = if self.in_place { &d } else { &c };
        let mut gemm = Gemm::<T>::new(m.into(), n.into(), k.into())
            .a(strided(order_a, &a))
            .b(strided(order_b, &b))
            .c(strided(order_d, c_or_d))
            .d(strided(order_d, &d));
        if let Some(kernel) = self.kernel {
            gemm = gemm.kernel(kernel);
        }
        let plan = gemm.plan(device).map_err(|error| error.to_string())?;
        let arguments = GemmArguments {
            a: a.slice(),
            b: b.slice(),
            c: Some(c_or_d.slice()),
            d: d.slice(),
            alpha: self.alpha,
            beta: self.beta,
        };
        let stream = device.default_stream().map_err(|error| error.to_string())?;
        plan.run(&stream, arguments).map_err(|error| error.to_string())?;
        stream.synchronize().map_err(|error| error.to_string())?;

        for input in [&a, &b, &c] {
            input.download()?;
        }
        let content = d.download()?;
        if plan.problem().is_empty() {
            return Ok(());
        }
        let source = c_or_d.uploaded();
        let reference = reference::gemm(self.alpha, &a.uploaded(), &b.uploaded(), self.beta, Some(&source))
            .map_err(|error| error.to_string())?;
        let result = d.view(&content);
        let compared = match self.values {
            Values::Integers => reference.compare_exactly(&result),
            Values::Reals => reference.compare(&result, plan.accumulation()),
        };
        match compared.and_then(Comparison::check) {
            Ok(_) => Ok(()),
            // Nothing to compare with relatively: D must be zero everywhere.
            Err(Error::ZeroReference) => all_zero(&content, &d),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// An output whose reference is zero holds zeros where the poison was.
fn all_zero<T: Element + Pod>(content: &[T], d: &Guarded<T>) -> Result<(), String> {
    let outside = d.uploaded();
    let elements = outside.rows() * outside.columns();
    let zeros = content.iter().filter(|value| value.to_f32() == 0.0).count();
    if zeros == elements { Ok(()) } else { Err(format!("{zeros} of {elements} elements are zero, required are all")) }
}
