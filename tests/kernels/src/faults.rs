//! Kernels that are wrong on purpose. The simulator must refuse each; none may run on a GPU.

use falchion_device::arch::shared::{SharedPtr, load_f32};
use falchion_device::arch::sync::sync_threads;
use falchion_device::arch::thread::thread_idx_x;
use falchion_device::arch::{async_copy, global, shared};

/// Each thread stores a word and reads its neighbour's, as a sum would, with no barrier between.
///
/// # Safety
/// None would do.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn missing_barrier(output: u64) {
    let thread = thread_idx_x();
    // SAFETY: it is not; that is the point.
    unsafe {
        let own = SharedPtr::dynamic().add(thread * 4);
        shared::store::<4>(own, [thread, 0, 0, 0]);
        let other = load_f32(SharedPtr::dynamic().add((thread ^ 32) * 4));
        global::store::<4>(output + u64::from(thread) * 4, [other.to_bits(), 0, 0, 0]);
    }
}

/// Reads a tile that `cp.async` has not been waited for.
///
/// # Safety
/// None would do.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn missing_wait(input: u64, output: u64) {
    let thread = thread_idx_x();
    // SAFETY: it is not; that is the point.
    unsafe {
        let own = SharedPtr::dynamic().add(thread * 4);
        async_copy::copy_zfill::<4>(own, input + u64::from(thread) * 4, true);
        async_copy::commit_group();
        sync_threads();
        let value = load_f32(own);
        global::store::<4>(output + u64::from(thread) * 4, [value.to_bits(), 0, 0, 0]);
    }
}

/// Copies `count` words, and one more.
///
/// # Safety
/// None would do.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn off_by_one(input: u64, output: u64, count: u32) {
    let thread = thread_idx_x();
    if thread <= count {
        // SAFETY: it is not, for thread = count; that is the point.
        unsafe {
            let word = global::load::<4>(input + u64::from(thread) * 4, true);
            global::store::<4>(output + u64::from(thread) * 4, word);
        }
    }
}

/// Loads 16 bytes at a multiple of 4.
///
/// # Safety
/// None would do.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn misaligned_vector(input: u64, output: u64) {
    let thread = u64::from(thread_idx_x());
    // SAFETY: it is not; that is the point.
    unsafe { global::store::<16>(output + thread * 16, global::load::<16>(input + thread * 16 + 4, true)) }
}

/// Half of each warp waits for the other half, which never comes.
///
/// # Safety
/// None would do.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn divergent_barrier(output: u64) {
    let thread = thread_idx_x();
    // SAFETY: it is not; that is the point.
    unsafe {
        if thread % 32 < 16 {
            sync_threads();
        }
        global::store::<4>(output + u64::from(thread) * 4, [thread, 0, 0, 0]);
    }
}

/// Stores to shared memory only from the first warp and reads from all.
///
/// # Safety
/// None would do.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn uninitialised_shared(output: u64) {
    let thread = thread_idx_x();
    // SAFETY: it is not; that is the point.
    unsafe {
        let own = SharedPtr::dynamic().add(thread * 4);
        if thread < 32 {
            shared::store::<4>(own, [thread, 0, 0, 0]);
        }
        sync_threads();
        global::store::<4>(output + u64::from(thread) * 4, [load_f32(own).to_bits(), 0, 0, 0]);
    }
}
