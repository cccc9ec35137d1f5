//! Entry points.

/// Declares the entry point of a kernel, named as its configuration, and exports its description.
///
/// `kernel! { name: Type }` expands to
///
/// ```text
/// const _: () = assert!(<Type as Kernel>::NAME.equals("name"), "…");
/// #[used]
/// #[unsafe(export_name = "falchion_description_name")]
/// static DESCRIPTION: <Type as Kernel>::Description = <Type as Kernel>::DESCRIPTION;
/// #[unsafe(no_mangle)]
/// pub unsafe extern "ptx-kernel" fn name(params: <Type as Kernel>::Params) {
///     let address = /* of `params`, by `cvta.param` */;
///     unsafe { <Type as Kernel>::run(&params, address) }
/// }
/// ```
///
/// The crate that uses it needs `#![feature(abi_ptx, asm_experimental_arch)]`.
#[macro_export]
macro_rules! kernel {
    ($($(#[$attribute:meta])* $name:ident: $kernel:ty;)+) => {$(
        const _: () = {
            assert!(
                <$kernel as $crate::kernel::Kernel>::NAME.equals(stringify!($name)),
                concat!("the entry point `", stringify!($name), "` is not named as its configuration (Kernel::NAME)")
            );
            #[used]
            #[unsafe(export_name = concat!("falchion_description_", stringify!($name)))]
            static DESCRIPTION: <$kernel as $crate::kernel::Kernel>::Description = <$kernel as $crate::kernel::Kernel>::DESCRIPTION;
        };
        $(#[$attribute])*
        /// # Safety
        /// The operands lie in device memory as `params` describes them, and the launch is the one that the
        /// exported description demands.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(params: <$kernel as $crate::kernel::Kernel>::Params) {
            // SAFETY: the caller is the host, which vouches for all of it.
            unsafe {
                // The copy engine reads tensor maps where they are, in parameter space; a Rust reference would make a copy.
                let address: u64;
                ::core::arch::asm!(
                    concat!("mov.b64 {0}, ", stringify!($name), "_param_0; cvta.param.u64 {0}, {0};"),
                    out(reg64) address, options(pure, nomem, nostack)
                );
                <$kernel as $crate::kernel::Kernel>::run(&params, address)
            }
        }
    )+};
}
