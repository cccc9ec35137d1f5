//! `gemm`: D ← α A B + β C on NumPy files.

use crate::{
    device,
    npy::{self, NpyFile},
    watchdog::Watchdog,
};
use anyhow::{Result, bail};
use bytemuck::Pod;
use falchion::{Element, Event, Gemm, GemmArguments as Operands, Order, bf16, f16};
use std::time::Duration;
use xtask::arguments::{Dtype, Extents, GemmArguments};

/// A simulated product of a few thousand cubed takes hours; on a GPU nothing that fits into memory takes a minute.
const GPU_LIMIT: Duration = Duration::from_secs(300);

/// The operands' files, fitting together.
struct Files {
    a: NpyFile,
    b: NpyFile,
    c: Option<NpyFile>,
}

pub fn run(arguments: &GemmArguments) -> Result<()> {
    let open = |path| NpyFile::open(path, arguments.dtype);
    let files =
        Files { a: open(&arguments.a)?, b: open(&arguments.b)?, c: arguments.c.as_deref().map(open).transpose()? };
    files.check()?;
    match files.a.dtype() {
        Dtype::F32 => multiply::<f32>(arguments, files),
        Dtype::F16 => multiply::<f16>(arguments, files),
        Dtype::Bf16 => multiply::<bf16>(arguments, files),
    }
}

impl Files {
    fn extents(&self) -> Extents {
        Extents { m: self.a.shape()[0], n: self.b.shape()[1], k: self.a.shape()[1] }
    }

    fn check(&self) -> Result<()> {
        let Extents { m, n, k } = self.extents();
        let [rows, _] = self.b.shape();
        if rows != k {
            bail!("a is {m}×{k} and b is {rows}×{n}, required are as many rows of b as columns of a");
        }
        if let Some([rows, columns]) = self.c.as_ref().map(NpyFile::shape).filter(|shape| *shape != [m, n]) {
            bail!("c is {rows}×{columns}, required is {m}×{n}: the rows of a and the columns of b");
        }
        for (name, file) in [("b", Some(&self.b)), ("c", self.c.as_ref())] {
            if let Some(file) = file.filter(|file| file.dtype() != self.a.dtype()) {
                bail!("a is {} and {name} is {}, required is one type: convert one", self.a.dtype(), file.dtype());
            }
        }
        Ok(())
    }
}

fn multiply<T: Element + Pod>(arguments: &GemmArguments, files: Files) -> Result<()> {
    let extents = files.extents();
    let Extents { m, n, k } = extents;
    let device = device::open(arguments.backend)?;
    println!("device: {device}");
    // Files are used in the order that they have; C and D must have one order.
    let order = files.c.as_ref().map_or(Order::RowMajor, NpyFile::order);
    let gemm = Gemm::<T>::new(m as u64, n as u64, k as u64).a(files.a.order()).b(files.b.order()).c(order).d(order);
    let plan = gemm.plan(&device)?;
    let (a, b) = (device.upload(&files.a.elements::<T>()?)?, device.upload(&files.b.elements::<T>()?)?);
    let c = files.c.map(|c| -> Result<_> { Ok(device.upload(&c.elements::<T>()?)?) }).transpose()?;
    let d = device.alloc::<T>(m * n)?;
    let mut operands = Operands::new(&a, &b, &d).alpha(arguments.alpha);
    if let Some(c) = &c {
        operands = operands.c(c).beta(arguments.beta.unwrap_or(1.0));
    }
    let kernel = plan.kernel_for(&operands)?;
    println!("kernel: {kernel} on {extents}");
    let stream = device.default_stream()?;
    let gpu = device.info().kind == falchion::DeviceKind::Cuda;
    let _watch = gpu.then(|| Watchdog::new(format!("kernel {kernel} on {extents}"), GPU_LIMIT));
    if gpu {
        // A first run loads the kernel and wakes the clocks.
        plan.run(&stream, operands)?;
    }
    let (begin, end) = (Event::new(&device)?, Event::new(&device)?);
    begin.record(&stream)?;
    plan.run(&stream, operands)?;
    end.record(&stream)?;
    let seconds = end.elapsed_since(&begin)?.as_secs_f64();
    if gpu {
        println!("time: {:.1} us, {:.2} TFLOP/s", seconds * 1e6, extents.flops() / seconds / 1e12);
    } else {
        println!("time: {seconds:.3} s of simulation, which says nothing about a GPU");
    }
    npy::write(&arguments.output, &d.download()?, [m, n], order)?;
    println!("wrote {} ({m}×{n} {})", arguments.output.display(), T::KIND);
    Ok(())
}
