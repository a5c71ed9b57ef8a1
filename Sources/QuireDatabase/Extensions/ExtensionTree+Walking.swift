// Walking through a part of a tree in one call.

internal import QuireStorage

extension ExtensionTree where Key == [UInt8] {
  /// Calls `body` with key and value of the entries from `lower` up to `upper`, which is not among them, in order,
  /// until it returns false, where they lie; nil means no bound. A leaf at a time: in a fraction of the time that the
  /// steps of a cursor take.
  ///
  /// - Parameters:
  ///   - lower: the first key that counts; nil for the first of all.
  ///   - upper: the first that does not any more; nil for none.
  ///   - limit: about how many entries are wanted; more are handed over all the same until `body` returns false.
  ///   - body: may read, and change nothing; the bytes are good until it returns.
  /// - Throws: also what `body` throws, and `mutatedDuringIteration` if it has changed something.
  public func forEach(
    from lower: [UInt8]?, upTo upper: [UInt8]?, limit: Int = .max,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    try state.check()
    guard state.recorder != nil else { return try walk(lower, upper, limit, body) }
    var last: [UInt8]?
    var isStopped = false
    defer {
      // As far as it has come, and to the end of the part if it was not stopped.
      noteRead(from: lower, upTo: isStopped ? last.map { $0 + [0] } : upper)
    }
    try walk(lower, upper, limit) { key, value in
      last = unsafe key.withUnsafeBytes { unsafe [UInt8]($0) }
      isStopped = true
      guard try body(key, value) else { return false }
      isStopped = false
      return true
    }
  }

  private func walk(
    _ lower: [UInt8]?, _ upper: [UInt8]?, _ limit: Int, _ body: (RawSpan, RawSpan) throws -> Bool
  ) throws {
    switch backing {
    case .stored(let tree):
      try namingWalk { try state.forEachEntry(in: tree, lower ?? [], upper, limit, body) }
    case .memory, .missing:
      let cursor = try cursor()
      var isOnEntry = try cursor.seek(lower ?? [])
      while isOnEntry {
        let goesOn = try cursor.withEntry { key, value in
          if let upper, !key.precedes(upper) { return false }
          return try body(key, value)
        }
        guard goesOn == true else { return }
        isOnEntry = try cursor.next()
      }
    }
  }
}

extension ExtensionTree where Key == RowID {
  /// Calls `body` with number and value of the entries from `first` on, in order, until it returns false, where they
  /// lie.
  ///
  /// - Parameters:
  ///   - first: the first row that counts; nil for the first of all.
  ///   - body: may read, and change nothing; the bytes are good until it returns.
  /// - Throws: also what `body` throws, and `mutatedDuringIteration` if it has changed something.
  public func forEach(from first: RowID?, _ body: (_ rowID: RowID, _ value: RawSpan) throws -> Bool) throws {
    try state.check()
    noteRead(from: first, upTo: nil)
    switch backing {
    case .stored(let tree): try namingWalk { try state.forEachNumber(in: tree, first?.rawValue ?? .min, body) }
    case .memory, .missing:
      let cursor = try cursor()
      var isOnEntry = try cursor.seek(first ?? RowID(.min))
      while isOnEntry, let rowID = cursor.key {
        guard try cursor.withEntry({ _, value in try body(rowID, value) }) == true else { return }
        isOnEntry = try cursor.next()
      }
    }
  }
}

extension ExtensionTree {
  /// Has the engine's errors name the tree.
  func namingWalk(_ body: () throws -> Void) throws {
    do { try body() } catch let error as StorageError {
      if error.code == .cursorInvalidated {
        throw DatabaseError(
          .mutatedDuringIteration,
          "The database was changed inside a walk through the tree “\(name)” of the extension “\(extensionName)”. "
            + "Collect what it yields first, and make the changes afterwards.", path: state.database.path, cause: error)
      }
      throw DatabaseError(error).inTree(name, of: extensionName)
    }
  }
}

extension RawSpan {
  /// Whether the bytes come before `other`.
  fileprivate func precedes(_ other: [UInt8]) -> Bool {
    unsafe withUnsafeBytes { unsafe $0.lexicographicallyPrecedes(other) }
  }
}

extension StorageTransaction {
  /// Calls `body` with the entries of a tree of bytes within bounds.
  fileprivate func forEachEntry(
    in tree: Tree, _ lower: [UInt8], _ upper: [UInt8]?, _ limit: Int, _ body: (RawSpan, RawSpan) throws -> Bool
  ) throws {
    var cursor = try cursor(tree)
    _ = try cursor.seek(lower)
    guard cursor.isOnEntry else { return }
    lentCount &+= 1
    defer { lentCount &-= 1 }
    var step = min(limit, 16)
    var goesOn = true
    while goesOn {
      let given = try cursor.forEach(limit: step) { key, value in
        if let upper, !key.precedes(upper) {
          goesOn = false
        } else {
          goesOn = try body(key, value)
        }
        return goesOn
      }
      if given < step { return }
      step = .max
    }
  }

  /// Calls `body` with the entries of a tree of numbers from `first` on.
  fileprivate func forEachNumber(in tree: Tree, _ first: Int64, _ body: (RowID, RawSpan) throws -> Bool) throws {
    var cursor = try cursor(tree)
    _ = try cursor.seek(first)
    guard cursor.isOnEntry else { return }
    lentCount &+= 1
    defer { lentCount &-= 1 }
    try cursor.forEachNumber { try body(RowID($0), $1) }
  }
}
