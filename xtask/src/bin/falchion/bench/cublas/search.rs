//! Where cuBLASLt may be.

use std::{path::PathBuf, process::Command};

/// Newest first; a release that is newer than the driver fails to open, and the next one is tried.
const NAMES: [&str; 2] = ["libcublasLt.so.13", "libcublasLt.so.12"];
/// Folders of NVIDIA's wheels in a folder of Python packages.
const WHEELS: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cublas/lib"];

/// What the loader finds by itself, CUDA toolkits, and Python packages.
pub fn candidates() -> Vec<PathBuf> {
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let mut folders = vec![PathBuf::new()];
    folders.extend(toolkits.chain([PathBuf::from("/usr/local/cuda")]).map(|toolkit| toolkit.join("lib64")));
    folders.extend(python_folders().iter().flat_map(|folder| WHEELS.map(|wheel| folder.join(wheel))));
    let files = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    // A bare name is the loader's to find.
    files.filter(|file| file.components().count() == 1 || file.is_file()).collect()
}

/// Where Python looks for packages; none without Python.
fn python_folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for python in ["python3", "python"] {
        let output = Command::new(python).args(["-c", "import sys; print('\\n'.join(sys.path))"]).output();
        if let Ok(output) = output {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            folders.extend(text.lines().filter(|line| !line.is_empty()).map(PathBuf::from));
        }
    }
    folders.dedup();
    folders
}
