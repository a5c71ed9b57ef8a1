// Sorting the entries of an extension's tree before they are stored.

internal import QuireStorage

/// Takes entries in any order, in bounded memory, and hands them in order to a tree: for building a tree of many rows.
///
/// What does not fit its memory goes to a temporary file beside the database. Of that a crash leaves nothing that is
/// still there after the next opening. It belongs to no transaction: take in what a snapshot holds in a read
/// transaction, so that nobody waits, and store it in a short write transaction with `ExtensionTree.load`. What has
/// changed in between is the extension's business: its hooks may note keys in a tree of their own.
///
/// For one thread at a time. The algorithm is external merge sort, as in Knuth, The Art of Computer Programming,
/// volume 3, 5.4.
public final class ExtensionSorter<Key: ExtensionTreeKey> {
  let sorter: EntrySorter

  init(_ sorter: EntrySorter) { self.sorter = sorter }

  /// The number of entries so far.
  public var count: Int { sorter.count }

  /// Adds an entry. Of several with one key the last one counts. Amortized O(1).
  ///
  /// - Throws: `keyTooLong`, `valueTooLong`; `diskFull` and `inputOutput` from the temporary file, and the same from
  ///   then on.
  public func append(_ key: Key, _ value: [UInt8] = []) throws {
    do throws(StorageError) {
      try unsafe value.withValueBytes { (bytes) throws(StorageError) in
        if let number = key.number { return try unsafe sorter.append(SearchKey(number), bytes) }
        try key.orderedBytes.withSearchKey { (key) throws(StorageError) in try unsafe sorter.append(key, bytes) }
      }
    } catch { throw DatabaseError(error) }
  }
}

extension ExtensionSorter where Key == [UInt8] {
  /// Adds an entry whose key lies somewhere, and is copied. Otherwise as `append` of a key.
  public func append(_ key: RawSpan, _ value: [UInt8] = []) throws {
    do throws(StorageError) {
      try unsafe value.withValueBytes { (bytes) throws(StorageError) in
        try unsafe key.withUnsafeBytes { (key) throws(StorageError) in
          try unsafe sorter.append(SearchKey(key), bytes)
        }
      }
    } catch { throw DatabaseError(error) }
  }
}

extension ExtensionSorter {
  /// Calls `body` with all entries in the order of their keys, where they lie: for what is made of neighbours before it
  /// is stored. The key's bytes are those of `orderedBytes`. Nothing can be appended afterwards.
  ///
  /// - Throws: also what `body` throws; `outOfMemory`, `inputOutput` and `damagedPage` of the temporary file.
  public func forEach(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> Void) throws {
    do {
      try unsafe sorter.forEach { key, value in try unsafe body(key.bytes, value.bytes) }
    } catch let error as StorageError { throw DatabaseError(error) }
  }
}

extension Database {
  /// A sorter for a tree of an extension.
  ///
  /// - Parameters:
  ///   - keys: the type of the tree's keys.
  ///   - memory: the bytes of memory for entries; less than 16 pages of the database count as 16.
  /// - Throws: `outOfMemory`, `closed`.
  public func sorter<Key: ExtensionTreeKey>(of keys: Key.Type, memory: Int = 16 << 20) throws -> ExtensionSorter<Key> {
    do throws(StorageError) {
      return ExtensionSorter(
        try core.storage.makeSorter(Key.isNumber ? .int64 : .bytes, byteLimit: memory))
    } catch { throw DatabaseError(error) }
  }
}

extension ExtensionTree {
  /// Stores what was sorted, each entry in the place of what was under its key; returns how many entries the tree has
  /// gained. Into an empty tree it goes page by page in a fraction of the time that puts take. A large load commits by
  /// a checkpoint instead of the log.
  ///
  /// - Parameters:
  ///   - sorter: of no use afterwards.
  ///   - leafFill: how much of each page is used where the tree is empty, from 0.5 to 1; less than all leaves room for
  ///     entries that come later.
  /// - Throws: `diskFull`, `inputOutput`, `damagedPage`. The transaction can only be rolled back then.
  @discardableResult
  public func load(_ sorter: ExtensionSorter<Key>, leafFill: Double = 0.9) throws -> Int {
    state.noteChange(of: owner, inTree: name, ByteInterval(lower: [], upper: nil))
    switch backing {
    case .stored(let tree):
      try state.checkWriting()
      do { return try state.load(sorter.sorter, into: tree, leafFill: leafFill) } catch let error as StorageError {
        throw DatabaseError(error).inTree(name, of: extensionName)
      }
    case .memory, .missing:
      let before = try count
      do {
        try unsafe sorter.sorter.forEach { key, value in
          guard let key = unsafe Key(orderedBytes: [UInt8](key)) else { return }
          try unsafe put([UInt8](value), for: key)
        }
      } catch let error as StorageError {
        throw DatabaseError(error).inTree(name, of: extensionName)
      }
      return try count - before
    }
  }
}

extension StorageTransaction {
  /// Brings what was sorted into a tree.
  fileprivate func load(_ sorter: EntrySorter, into tree: Tree, leafFill: Double) throws -> Int {
    switch storage {
    case .writing(let tx): unsafe try tx.pointee.load(sorter, into: tree, leafFill: leafFill)
    default: throw StorageHandle.unfit()
    }
  }
}
