// Reading what is left of a damaged database, without an engine and without changing a byte.

/// Reads every entry outside the damage of a database's files, and tells what is lost.
///
/// The trees of the newest usable meta page are walked from their roots, with the log applied to them. What does not
/// verify is a lost range. Only for lost ranges all pages of the file are looked at: leaves say to which tree they
/// belong and verify by themselves. Those that the free map calls in use are of the newest state; the others may be
/// old, and of them the newest version of a key is delivered.
///
/// Opens everything read-only and changes nothing. For one thread at a time.
///
/// Memory: one bit for each page of the file; what the log takes, and some 60 bytes for each of its operations; once
/// there is a lost range, 32 bytes for each leaf of the file, at most 100 more for each of the tree that is read,
/// and 1,024 pages; the longest value.
package final class SalvageReader {
  /// What of the files is usable.
  package let source: SalvageSource
  /// The trees there are, in order of their ids.
  package let trees: [SalvagedTree]
  /// What is lost, as far as it has been found: what concerns no tree, and all trees that have been read to the end.
  package private(set) var losses: [SalvageLoss]

  /// Opens the files at `path`.
  ///
  /// - Throws: `notFound`, `notADatabase` if it is no regular file, `alreadyOpen` while anybody has the database open
  ///   for writing, `newerFormat`, `inputOutput`; `damagedMetaPage` if nothing can be proven, because the database's
  ///   identity is lost, and `believesUnverified` is not set.
  package init(
    at path: String, options: SalvageOptions = SalvageOptions(), fileSystem: any FileSystem = RealFileSystem()
  ) throws(StorageError)

  /// Calls `body` with each entry of a tree, in the order of the keys, each key once.
  ///
  /// Touches every page of the tree, and once, if something of any tree is lost, every page of the file. What is lost
  /// is added to `losses`, at the first reading of a tree.
  ///
  /// - Throws: what `body` throws; `inputOutput` only where memory or the system gives out: a page that cannot be read
  ///   is lost.
  package func forEachEntry(of tree: SalvagedTree, _ body: (SalvagedEntry) throws -> Void) throws
}
