// Sorting outside of transactions.

extension EngineCore {
  /// Sorts entries for a tree of this database, outside of transactions.
  ///
  /// - Parameter byteLimit: the memory for entries; less than 16 pages count as 16. What is beyond goes to a temporary
  ///   file beside the database.
  /// - Throws: `outOfMemory`.
  package func makeSorter(_ kind: KeyKind, byteLimit: Int) throws(StorageError) -> EntrySorter {
    let (fileSystem, path, pageSize) = (environment.fileSystem, store.file.path, store.pageSize)
    let salt = store.checksumSeed ^ environment.random()
    return try EntrySorter(kind, byteLimit: byteLimit, pageSize: pageSize) { () throws(StorageError) in
      try RunFile(fileSystem, databasePath: path, pageSize: pageSize, salt: salt)
    }
  }
}
