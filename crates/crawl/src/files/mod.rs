//! The one door to durable bytes.
//!
//! Every byte that must survive a crash is written here, in one of two ways:
//!
//! - an *append-only* file, whose [`Appender`] knows the length and the CRC-32 of the whole
//!   content; a checkpoint keeps both ([`FileState`]), and after a crash [`Files::restore`] cuts
//!   the file back to that length once it has seen that the prefix is the one that was promised;
//! - a file written *whole*: [`Files::write_atomic`] writes a neighbour and renames it, so that a
//!   reader sees the old content or the new one.
//!
//! Without `fsync` the promise is against the death of the process: bytes handed to the operating
//! system survive it. With `fsync` it is against the loss of power too: file data is synced before
//! anything refers to it, and directories are synced after creations, renames and removals.
//!
//! Paths are relative to the root and stay below it; parents are created. Errors name the path.

mod appender;
mod fault;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub use appender::Appender;
use fault::Plan;
pub use fault::{Fault, FaultError};

/// What a checkpoint remembers of an append-only file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Path relative to the root.
    pub path: String,
    /// Length in bytes.
    pub len: u64,
    /// CRC-32 of those bytes.
    pub crc: u32,
}

/// An error of the operating system with the file that it is about.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct PathError {
    /// The whole path.
    pub path: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

/// Puts a path on an error: `File::open(path).map_err(at(path))`.
pub fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error + '_ {
    move |source| io::Error::new(source.kind(), PathError { path: path.to_owned(), source })
}

/// The error of a file whose bytes are not what they should be.
pub fn damaged(path: &Path, what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
}

/// A directory of durable files. Clones share the fault plan and its count of operations.
#[derive(Clone, Debug)]
pub struct Files {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    fsync: bool,
    plan: Plan,
}

impl Files {
    /// Opens a directory, which is created when it is missing.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn open(root: impl Into<PathBuf>, fsync: bool) -> io::Result<Self> {
        let root = root.into();
        fs::create_dir_all(&root).map_err(at(&root))?;
        Ok(Self { shared: Arc::new(Shared { root, fsync, plan: Plan::default() }) })
    }

    /// The same directory with a fault plan; operations are numbered afresh.
    #[must_use]
    pub fn with_fault(self, fault: Fault) -> Self {
        let Shared { root, fsync, .. } = &*self.shared;
        let shared = Shared { root: root.clone(), fsync: *fsync, plan: Plan::new(fault) };
        Self { shared: Arc::new(shared) }
    }

    /// How many durable operations went through this door.
    pub fn operations(&self) -> u64 {
        self.shared.plan.operations()
    }

    /// Whether flushed bytes are forced to the disk.
    pub fn fsync(&self) -> bool {
        self.shared.fsync
    }

    /// The whole path of a file.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.shared.root.join(path)
    }

    /// Opens a file for appending at its end; its content is read once for the checksum.
    ///
    /// # Errors
    /// When it cannot be created or read.
    pub fn appender(&self, path: impl AsRef<Path>) -> io::Result<Appender> {
        let path = self.inside(path.as_ref())?;
        let len = match fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(at(&path)(error)),
        };
        let mut file = self.create(&path, false)?;
        let crc = checksum(&mut file, len).map_err(at(&path))?;
        Ok(Appender::new(self.shared.clone(), path, file, len, crc))
    }

    /// Cuts an append-only file back to what a checkpoint promised.
    ///
    /// # Errors
    /// When the file is shorter than that, or its bytes have another checksum: nothing is cut.
    pub fn restore(&self, path: impl AsRef<Path>, len: u64, crc: u32) -> io::Result<()> {
        self.resume(path, len, crc).map(drop)
    }

    /// [`Files::restore`], and the appender that goes on from there.
    ///
    /// # Errors
    /// As [`Files::restore`].
    pub fn resume(&self, path: impl AsRef<Path>, len: u64, crc: u32) -> io::Result<Appender> {
        let path = self.inside(path.as_ref())?;
        let found = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        if found < len {
            let what = format!("shorter than its checkpoint: {found} < {len} bytes");
            return Err(damaged(&path, what));
        }
        let mut file = self.create(&path, false)?;
        let hasher = checksum(&mut file, len).map_err(at(&path))?;
        if hasher.clone().finalize() != crc {
            let what = format!("damaged: its first {len} bytes are not those of its checkpoint");
            return Err(damaged(&path, what));
        }
        if found > len {
            self.cut(&path, &file, len)?;
        }
        Ok(Appender::new(self.shared.clone(), path, file, len, hasher))
    }

    /// Replaces a file by other content, whole or not at all.
    ///
    /// # Errors
    /// When a write, sync or rename fails; the old content is then still there.
    pub fn write_atomic(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let path = self.inside(path.as_ref())?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let beside = path.with_file_name(name);
        let mut file = self.create(&beside, true)?;
        self.shared.plan.write(&mut file, bytes).map_err(at(&beside))?;
        if self.shared.fsync {
            self.shared.plan.act(|| file.sync_all()).map_err(at(&beside))?;
        }
        self.shared.plan.act(|| fs::rename(&beside, &path)).map_err(at(&path))?;
        self.sync_parent(&path)
    }

    /// Gives a file another name, replacing the file that had it.
    ///
    /// # Errors
    /// When there is no such file, or the rename fails.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (from, to) = (self.inside(from.as_ref())?, self.inside(to.as_ref())?);
        self.make_parent(&to)?;
        self.shared.plan.act(|| fs::rename(&from, &to)).map_err(at(&from))?;
        self.sync_parent(&from)?;
        self.sync_parent(&to)
    }

    /// Removes a file; one that is already gone is no error.
    ///
    /// # Errors
    /// When the file is there and cannot be removed.
    pub fn remove(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = self.inside(path.as_ref())?;
        match self.shared.plan.act(|| fs::remove_file(&path)) {
            Ok(()) => self.sync_parent(&path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(at(&path)(error)),
        }
    }

    /// Cuts a file to a length that it already has or exceeds.
    ///
    /// # Errors
    /// When the file is missing or shorter: a hole of zeros is never what was meant.
    pub fn truncate(&self, path: impl AsRef<Path>, len: u64) -> io::Result<()> {
        let path = self.inside(path.as_ref())?;
        let file = OpenOptions::new().write(true).open(&path).map_err(at(&path))?;
        let found = file.metadata().map_err(at(&path))?.len();
        if found < len {
            return Err(damaged(&path, format!("cannot be cut to {len} bytes: it has {found}")));
        }
        self.cut(&path, &file, len)
    }

    /// The content of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let path = self.inside(path.as_ref())?;
        fs::read(&path).map_err(at(&path))
    }

    /// A file opened for reading.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn reader(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = self.inside(path.as_ref())?;
        File::open(&path).map_err(at(&path))
    }

    /// Whether there is such a file or directory.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Length of a file.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn len(&self, path: impl AsRef<Path>) -> io::Result<u64> {
        let path = self.inside(path.as_ref())?;
        Ok(fs::metadata(&path).map_err(at(&path))?.len())
    }

    /// Names in a directory, sorted; a directory that is not there holds none.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn list(&self, dir: impl AsRef<Path>) -> io::Result<Vec<String>> {
        let dir = self.inside(dir.as_ref())?;
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(at(&dir)(error)),
        };
        let mut names = entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(at(&dir))?;
        names.sort();
        Ok(names)
    }

    /// The whole path of a file, if it stays below the root.
    fn inside(&self, path: &Path) -> io::Result<PathBuf> {
        let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.components().all(plain) {
            return Ok(self.path(path));
        }
        let what = format!("{}: path leaves {}", path.display(), self.shared.root.display());
        Err(io::Error::new(io::ErrorKind::InvalidInput, what))
    }

    fn create(&self, path: &Path, empty: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(empty);
        if path.exists() {
            return options.open(path).map_err(at(path));
        }
        self.make_parent(path)?;
        let file = self.shared.plan.act(|| options.open(path)).map_err(at(path))?;
        self.sync_parent(path)?;
        Ok(file)
    }

    fn cut(&self, path: &Path, file: &File, len: u64) -> io::Result<()> {
        self.shared.plan.act(|| file.set_len(len)).map_err(at(path))?;
        if self.shared.fsync {
            self.shared.plan.act(|| file.sync_all()).map_err(at(path))?;
        }
        Ok(())
    }

    fn make_parent(&self, path: &Path) -> io::Result<()> {
        let Some(parent) = path.parent().filter(|parent| !parent.exists()) else {
            return Ok(());
        };
        fs::create_dir_all(parent).map_err(at(parent))?;
        let new = parent.ancestors().take_while(|dir| dir.starts_with(&self.shared.root));
        new.filter(|dir| *dir != self.shared.root).try_for_each(|dir| self.sync_parent(dir))
    }

    /// Makes the names in the directory of `path` durable.
    fn sync_parent(&self, path: &Path) -> io::Result<()> {
        let Some(parent) = path.parent().filter(|_| self.shared.fsync) else { return Ok(()) };
        self.shared.plan.act(|| File::open(parent)?.sync_all()).map_err(at(parent))
    }
}

/// Checksum of the first `len` bytes of a file.
fn checksum(file: &mut File, len: u64) -> io::Result<crc32fast::Hasher> {
    let mut hasher = crc32fast::Hasher::new();
    let mut chunk = vec![0; (256 << 10).min(len as usize)];
    let mut left = len;
    while left > 0 {
        let size = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.read_exact(&mut chunk[..size])?;
        hasher.update(&chunk[..size]);
        left -= size as u64;
    }
    Ok(hasher)
}

#[cfg(test)]
mod tests;
