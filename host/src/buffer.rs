//! Memory on a device.

use crate::{Device, Error, Result};
use bytemuck::Pod;
use std::{
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

/// An owned array of `T` on a device, at an address that is a multiple of 256. Freed on drop, after
/// the kernels in flight.
///
/// Kernels read and write through [`Slice`]s, which are shared handles: the host never holds a
/// reference into device memory, so, as with a `Cell`, writing needs no `&mut`.
pub struct Buffer<T> {
    device: Device,
    address: u64,
    length: usize,
    element: PhantomData<fn() -> T>,
}

/// A range of a [`Buffer`]: a shared, copyable, non-owning handle to device memory.
pub struct Slice<'a, T> {
    device: &'a Device,
    address: u64,
    length: usize,
    element: PhantomData<fn() -> T>,
}

impl Device {
    /// An array of `length` elements whose content is undefined. The simulator reports any read of
    /// an element that nobody wrote.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn alloc<T: Pod>(&self, length: usize) -> Result<Buffer<T>> {
        let bytes = length
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::OutOfMemory { requested: u64::MAX, available: self.info().memory_bytes })?;
        // Drivers refuse empty allocations; nobody accesses one, so any address serves.
        let address = if bytes == 0 { 0 } else { self.engine().alloc(bytes)? };
        Ok(Buffer { device: self.clone(), address, length, element: PhantomData })
    }

    /// An array with the elements of `data`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<Buffer<T>> {
        let buffer = self.alloc(data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn zeros<T: Pod>(&self, length: usize) -> Result<Buffer<T>> {
        let buffer = self.alloc(length)?;
        buffer.as_slice().fill_bytes(0)?;
        Ok(buffer)
    }

    /// A handle to device memory that somebody else owns, such as another library's tensor.
    ///
    /// # Safety
    /// `length` elements from `address` lie in one allocation of this device (on a GPU: of its
    /// primary context) that outlives the slice.
    ///
    /// # Errors
    /// [`Error::Alignment`] when the address is not a multiple of the element's alignment.
    pub unsafe fn slice_from_address<T: Pod>(&self, address: u64, length: usize) -> Result<Slice<'_, T>> {
        let required = align_of::<T>() as u64;
        if !address.is_multiple_of(required) {
            let remedy = "pass an address that is a multiple of the element's size";
            return Err(Error::Alignment { operand: "slice", address, required, remedy });
        }
        Ok(Slice { device: self, address, length, element: PhantomData })
    }
}

impl<T> Buffer<T> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The device it lies on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Device address of the first element, a parameter for kernels; 0 when there are no elements.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// All of it.
    #[must_use]
    pub fn as_slice(&self) -> Slice<'_, T> {
        Slice { device: &self.device, address: self.address, length: self.length, element: PhantomData }
    }

    /// A range, in elements.
    ///
    /// # Errors
    /// [`Error::Range`] when it is not inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'_, T>> {
        self.as_slice().slice(range)
    }
}

impl<T: Pod> Buffer<T> {
    /// Overwrites the first `data.len()` elements.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Driver`].
    pub fn write(&self, data: &[T]) -> Result<()> {
        self.as_slice().write(data)
    }

    /// The elements, after the kernels in flight. The simulator reports an element that nobody wrote.
    ///
    /// # Errors
    /// [`Error::KernelFault`] when a kernel in flight faulted, [`Error::Driver`].
    pub fn download(&self) -> Result<Vec<T>> {
        self.as_slice().download()
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.address != 0 {
            // SAFETY: the buffer owns the allocation, and slices borrow the buffer.
            unsafe { self.device.engine().free(self.address) };
        }
    }
}

impl<'a, T> Slice<'a, T> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The device it lies on.
    #[must_use]
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// Device address of the first element.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// A range of this range, in elements.
    ///
    /// # Errors
    /// [`Error::Range`] when it is not inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&end) => end.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.length,
        };
        if start > end || end > self.length {
            return Err(Error::Range { start, end, length: self.length });
        }
        Ok(Self { address: self.address + (start * size_of::<T>()) as u64, length: end - start, ..*self })
    }
}

impl<T: Pod> Slice<'_, T> {
    /// Overwrites the first `data.len()` elements.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Driver`].
    pub fn write(&self, data: &[T]) -> Result<()> {
        if data.len() > self.length {
            let (required, actual) = (data.len() as u64, self.length as u64);
            return Err(Error::BufferTooSmall { name: "the destination of a write", required, actual });
        }
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the slice borrows a live allocation, and the data is no longer than it.
        unsafe { self.device.engine().write(self.address, bytemuck::cast_slice(data)) }
    }

    /// The elements, after the kernels in flight. The simulator reports an element that nobody wrote.
    ///
    /// # Errors
    /// [`Error::KernelFault`] when a kernel in flight faulted, [`Error::Driver`].
    pub fn download(&self) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.length];
        if !data.is_empty() {
            // SAFETY: the slice borrows a live allocation of this many elements.
            unsafe { self.device.engine().read(self.address, bytemuck::cast_slice_mut(&mut data))? };
        }
        Ok(data)
    }

    /// Sets every byte, to poison a buffer or to clear it: 0xFF makes NaNs of all float types.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn fill_bytes(&self, byte: u8) -> Result<()> {
        if self.length == 0 {
            return Ok(());
        }
        // SAFETY: the slice borrows a live allocation of this many elements.
        unsafe { self.device.engine().fill(self.address, byte, self.length * size_of::<T>()) }
    }
}

impl<'a, T> From<&'a Buffer<T>> for Slice<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.as_slice()
    }
}

impl<T> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<'_, T> {}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl<T> fmt::Debug for Slice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{}; {}] at {:#x} of {}",
            std::any::type_name::<T>(),
            self.length,
            self.address,
            self.device.info().name
        )
    }
}
